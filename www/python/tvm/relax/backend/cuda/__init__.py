"""Libraries for devices of NVIDIA: none is here."""
