"""Tests of hudictl/table."""
