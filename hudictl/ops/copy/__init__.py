"""Copy: a table as of a commit, at another place."""
