"""Tests of hudictl/reports/health."""
