"""Log files as an enemy would write them."""
