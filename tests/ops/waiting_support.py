"""A clock that nobody waits for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from hudictl.ops.waiting import Waited, parse_condition, wait_for
from hudictl.state.writers.activity import DEFAULT_IDLE_MS
from tests.helpers import Copy, session


@dataclass
class Pauses:
    """In each pause the next of some acts is done; after the last one nothing happens any more."""

    acts: list[Callable[[], object]] = field(default_factory=list)
    now: float = 1000.0
    pauses: list[float] = field(default_factory=list)
    told: list[dict[str, str]] = field(default_factory=list)

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds
        if self.acts:
            self.acts.pop(0)()

    def tell(self, missing: Mapping[str, str]) -> None:
        self.told.append(dict(missing))


def wait(
    copy: Copy, pauses: Pauses, *conditions: str, timeout_s: int = 60, every_s: int = 10, idle_ms: int = DEFAULT_IDLE_MS
) -> Waited:
    return wait_for(
        session(copy.table),
        [parse_condition(text) for text in conditions],
        timeout_ms=timeout_s * 1000,
        every_ms=every_s * 1000,
        idle_ms=idle_ms,
        tell=pauses.tell,
        clock=pauses.clock,
        sleep=pauses.sleep,
    )
