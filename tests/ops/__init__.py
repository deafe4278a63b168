"""Tests of hudictl/ops."""
