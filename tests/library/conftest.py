"""Fixtures of the library's tests: commands in this process, beside the library."""

from tests.cli.conftest import _no_spark, _plain, tell
from tests.fixtures import no_waiting, unpack

__all__ = ["_no_spark", "_plain", "no_waiting", "tell", "unpack"]
