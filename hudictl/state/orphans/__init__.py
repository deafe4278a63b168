"""Orphans."""
