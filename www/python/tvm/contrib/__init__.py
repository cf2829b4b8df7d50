"""Libraries of others: none is here."""
