"""What must hold for any bytes at all: called by the fuzzer, and by the tests for the corpus that is kept."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.fuzz import logs, table, timeline

GROUPS: Mapping[str, Sequence[Callable[[bytes], None]]] = {
    "logs": logs.TARGETS,
    "timeline": timeline.TARGETS,
    "table": table.TARGETS,
}
CORPUS = Path(__file__).parent / "corpus"


def run(group: str, data: bytes) -> None:
    """One input: its first byte chooses the target, the rest is for it."""
    if data:
        targets = GROUPS[group]
        targets[data[0] % len(targets)](data[1:])
