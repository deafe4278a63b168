"""Tests of hudictl/storage."""
