"""Which table services are due."""
