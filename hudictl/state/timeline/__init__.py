"""Instants."""
