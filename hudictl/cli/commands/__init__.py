"""One module a noun."""
