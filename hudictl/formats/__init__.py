"""The file formats: values to bytes and back. No I/O, no clock, no configuration."""
