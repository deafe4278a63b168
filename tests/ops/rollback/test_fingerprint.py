"""The fingerprint of a rollback: what moves it, and by which name."""

from collections.abc import Callable

import pytest

from tests import records
from tests.fixtures import Unpack
from tests.helpers import Copy, put, required, rollback_of, rollback_plan, savepoint
from tests.ops.rollback.execute_support import newest

LATER = "20261121040000000"


def moved(copy: Copy, change: Callable[[Copy], object]) -> set[str]:
    """The names of what a change moves in the plan to roll the newest instant back."""
    target = newest(copy)
    before = rollback_of(copy, target).fingerprint
    change(copy)
    after = rollback_of(copy, target).fingerprint
    return {key for key in {**before, **after} if before.get(key) != after.get(key)}


def larger(copy: Copy) -> None:
    """A log: a base file would be damaged."""
    path = copy.path / min(
        path for path in required(copy.table, rollback_of(copy, newest(copy)).undo.case) if ".log." in path
    )
    put(path, path.read_bytes() + b"x")


def clean(copy: Copy) -> None:
    spare = sorted(copy.data() - set(required(copy.table, rollback_of(copy, newest(copy)).undo.case)))
    copy.write(f"{LATER}.clean.requested", records.clean_plan(spare[:1]))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda copy: savepoint(copy, copy.commits[0]), "savepoints"),
        (lambda copy: copy.write(f"{LATER}.rollback.requested", rollback_plan(newest(copy))), "pending rollbacks"),
        (clean, "pending cleans"),
        (larger, "files that are needed"),
    ],
)
def test_each_change_moves_its_own_part(unpack: Unpack, change: Callable[[Copy], object], named: str) -> None:
    assert moved(unpack("v9", "mor_part"), change) == {named}


def test_a_failed_write_that_completes_is_another_instant(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_failed_direct")
    target = newest(copy)
    parts = moved(copy, lambda _: copy.write(f"{target}_{LATER}.commit", b"{}"))
    assert f"instant {target}" in parts
