"""When a writer counts as dead: its heartbeat settings, which are not in the table."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from hudictl.errors import UsageError

INTERVAL = "hoodie.client.heartbeat.interval_in_ms"
MISSES = "hoodie.client.heartbeat.tolerable.misses"
_MIN_INTERVAL_MS = 1_000
"""Hudi's minimum (0.15.0 to 1.2.0)."""
_DOUBT_MS = 60 * 60 * 1000
_ASSUMED = ", assumed"
_RULE = re.compile(rf"(\d{{1,12}}) ms, (\d{{1,12}}) misses({_ASSUMED})?")


@dataclass(frozen=True, slots=True)
class HeartbeatRule:
    """Hudi's rule: expired after ``misses`` intervals without a beat.

    ``assumed``: the values are Hudi's defaults (0.15.0 to 1.2.0), because nobody has specified the writers' own.
    """

    interval_ms: int = 60_000
    misses: int = 2
    assumed: bool = True

    @property
    def limit_ms(self) -> int:
        """The age of the last beat from which on the writer is dead by these values."""
        return self.interval_ms * self.misses

    @property
    def proof_ms(self) -> int:
        """The age from which on the writer counts as dead: assumed values prove nothing about a young heartbeat."""
        return max(self.limit_ms, _DOUBT_MS) if self.assumed else self.limit_ms

    def __str__(self) -> str:
        return f"{self.interval_ms} ms, {self.misses} misses{_ASSUMED if self.assumed else ''}"


ASSUMED = HeartbeatRule()
OPTIONS_OF_DEFAULT = ("--interval=60s", "--misses=2")
ASSUMED_SENTENCE = (
    "the writers' heartbeat settings are not known: Hudi's defaults (interval 60s, misses 2) are assumed, but a "
    "younger heartbeat than one hour proves no death; specify them: --interval and --misses, --hoodie-conf or --props"
)
HOW_TO_SAY = (
    f"specify the writers' values with --interval and --misses, or {INTERVAL} and {MISSES} with --hoodie-conf or "
    f"--props; if the writers have Hudi's defaults: {' '.join(OPTIONS_OF_DEFAULT)}"
)


def heartbeat_rule(settings: Mapping[str, str]) -> HeartbeatRule:
    """The rule by the writers' settings, else by Hudi's defaults: without the interval it is assumed, because intervals
    differ by far. Raises UsageError."""
    given = INTERVAL in settings
    interval_ms = _number(settings, INTERVAL, ASSUMED.interval_ms)
    misses = _number(settings, MISSES, ASSUMED.misses)
    if interval_ms < _MIN_INTERVAL_MS:
        raise UsageError(f"a heartbeat interval of {interval_ms} ms: the minimum of Hudi's writers is 1s")
    return HeartbeatRule(interval_ms, max(1, misses), not given)


def rule_of(text: str) -> HeartbeatRule | None:
    """The rule that a saved plan names."""
    found = _RULE.fullmatch(text)
    return HeartbeatRule(int(found[1]), int(found[2]), found[3] is not None) if found else None


def _number(settings: Mapping[str, str], key: str, default: int) -> int:
    text = settings.get(key, str(default)).strip()
    if not text.isascii() or not text.isdigit() or len(text) > 12:
        raise UsageError(f"{key}={text}: not a whole number, 0 or more")
    return int(text)
