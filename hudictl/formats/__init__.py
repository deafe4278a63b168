"""What the bytes mean: values to bytes and back. No I/O, no clock, no configuration."""
