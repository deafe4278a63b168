"""Faults planted in what deletes, publishes, refuses or verifies: each must be noticed by a test."""
