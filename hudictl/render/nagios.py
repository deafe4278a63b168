"""The output of a plugin for Nagios, Icinga or Checkmk: a line, its performance data, and details below it.

By the Monitoring Plugins' development guidelines: exit codes 0, 1, 2 and 3, ``|`` before performance data.
"""

from collections.abc import Sequence

from hudictl.phrases import printable

NAGIOS = "nagios"
OK, WARNING, CRITICAL, UNKNOWN = range(4)
_NAMES = ("OK", "WARNING", "CRITICAL", "UNKNOWN")


def status_lines(status: int, about: str, told: Sequence[str], numbers: dict[str, int]) -> list[str]:
    """The first line with its numbers, then the detail lines in ``told``."""
    data = " ".join(f"{name}={number};;;0" for name, number in numbers.items())
    return [f"HUDI {_NAMES[status]} - {_plain(about)} | {data}", *map(_plain, told)]


def unknown(message: str) -> str:
    """The only line of a plugin whose check failed."""
    return f"HUDI {_NAMES[UNKNOWN]} - {_plain(message)}"


def _plain(text: str) -> str:
    # A bar would begin performance data.
    return printable(text).replace("|", "/")
