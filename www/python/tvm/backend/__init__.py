"""What is about one kind of device."""
