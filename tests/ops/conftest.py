"""Fixtures that copies of real tables need."""

from tests.fixtures import no_fsync, unpack

__all__ = ["no_fsync", "unpack"]
