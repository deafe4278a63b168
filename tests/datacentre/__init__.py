"""A data centre on one machine: hosts out of namespaces, and the real services that tables need on them."""
