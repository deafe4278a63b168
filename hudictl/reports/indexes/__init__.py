"""``metadata verify --indexes``: the indexes of the metadata table against the data, one module for each index."""
