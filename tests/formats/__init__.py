"""Tests of hudictl/formats."""
