"""Tests of hudictl/table/locks."""
