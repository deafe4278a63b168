"""What the tests of execute share with others."""

# So begins the first instant of a metadata table that was made with its table.
FIRST_BUILD = "00000000000000"
