"""Tests of hudictl/reports/logs."""
