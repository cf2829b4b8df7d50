"""Reference results are not computed here."""
