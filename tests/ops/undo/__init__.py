"""Tests of hudictl/ops/undo."""
