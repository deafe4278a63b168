"""Waiting until a table is in a certain state."""

import time
from collections.abc import Mapping, Sequence

from hudictl.errors import UsageError
from hudictl.library.opened import Opened
from hudictl.library.options import several
from hudictl.ops.waiting import LEAST_MS, Waited, parse_condition, wait_for
from hudictl.phrases import seconds


def wait(table: Opened, conditions: Sequence[str], *, timeout_ms: int, every_ms: int, idle_ms: int) -> Waited:
    """See ``HudiTable.wait``. The monitor is told what is waited for."""
    parsed = list(dict.fromkeys(map(parse_condition, several(conditions))))
    if every_ms < LEAST_MS:
        raise UsageError(f"--every {seconds(every_ms)}: the least is {seconds(LEAST_MS)}")
    session, told = table.session(), ""

    def tell(missing: Mapping[str, str]) -> None:
        nonlocal told
        # Without ages, which are others at each look.
        said = "; ".join(f"{name}: {why.partition(':')[0]}" for name, why in missing.items())
        if said != told:
            told = said
            session.monitor.step(f"wait for {said}")

    return wait_for(
        session,
        parsed,
        timeout_ms=timeout_ms,
        every_ms=every_ms,
        idle_ms=idle_ms,
        tell=tell,
        clock=time.monotonic,
        sleep=time.sleep,
    )
