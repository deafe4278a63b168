"""``doctor``: what hudictl needs on this host, and for a table."""
