"""What other compilers take over: nothing here."""
