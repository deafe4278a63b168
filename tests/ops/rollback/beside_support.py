"""What the tests of beside share with others."""

from collections.abc import Callable

import pytest

from hudictl.errors import Conflict
from hudictl.ops.rollback.plan import RollbackOptions
from tests.helpers import (
    At,
    Copy,
    roll_back,
)

LATER = "20261121040000000"


STEPS = pytest.mark.parametrize(
    "step", ["prepare", "un-publish the instant", "delete files", "verify", "publish the rollback"]
)


# Steps at which the request is not there yet, or is withdrawn: nothing of the rollback stays.
FIRST = pytest.mark.parametrize("step", ["check again", "request the rollback"])


Act = Callable[[], object]


def conflict(copy: Copy, target: str, step: str, act: Act, named: str, options: RollbackOptions | None = None) -> None:
    """The rollback meets what is done at a step, and stops."""
    monitor = At(step, act)
    with pytest.raises(Conflict, match=named) as caught:
        roll_back(copy, target, monitor, options)
    assert (caught.value.exit_code, monitor.done) == (12, True)


def complete(copy: Copy, target: str) -> str:
    """The writer of a pending commit completes it."""
    body = copy.file(copy.commits[-1], "commit").read_bytes()
    name = f"{target}.commit" if copy.version == "v6" else f"{target}_{LATER}.commit"
    copy.write(name, body, old=False)
    return name
