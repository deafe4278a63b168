"""Tests of hudictl/reports/indexes."""
