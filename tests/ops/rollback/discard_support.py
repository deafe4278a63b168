"""What the tests of discard share with others."""

from hudictl.ops.rollback.discard import execute_discard, plan_discard
from hudictl.ops.session import Silent
from tests.helpers import (
    Copy,
    session,
)


def discard(copy: Copy, monitor: object = None) -> tuple[str, ...]:
    made = plan_discard(session(copy.table), 0)
    return execute_discard(session(copy.table, monitor or Silent()), made, 0).rollbacks  # type: ignore[arg-type]
