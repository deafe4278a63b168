"""Benchmarks of hudictl; see README.md."""
