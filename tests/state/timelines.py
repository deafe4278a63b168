"""Timelines written down in a test: the core of table services is a pure function of them."""

from hudictl.formats.instants import InstantFile, State, group_instants
from hudictl.table.timeline.active import Timeline

COMPLETES_AS = {"compaction": "commit", "clustering": "replacecommit"}


def time(number: int) -> str:
    """The instant time of a number: a minute of a day."""
    return f"20260101{number // 60:02d}{number % 60:02d}00000"


def timeline(*instants: str, after: int = 0) -> Timeline:
    """Instants as "3 commit" or "4 compaction REQUESTED", each completed half a minute after its time, or ``after``
    minutes more."""
    files = []
    for text in instants:
        number, action, *rest = text.split()
        state = State[rest[0]] if rest else State.COMPLETED
        at = time(int(number))
        ended = f"{time(int(number) + after)[:12]}30000" if state is State.COMPLETED else None
        name = f"{at}_{ended}.{action}" if ended else f"{at}.{action}.{state.name.lower()}"
        files.append(InstantFile(name, at, action, state, ended))
    return Timeline(group_instants(files), (), {file.name: 1 for file in files}, {file.name: 0 for file in files})


def commits(count: int, action: str = "commit") -> list[str]:
    """The commits 1 to ``count``."""
    return [f"{number} {action}" for number in range(1, count + 1)]
