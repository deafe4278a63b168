"""A store that refuses one deletion: the command says so, the same command ends what is left, and nothing stays."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from hudictl.storage import DeleteOutcome
from hudictl.storage.local import LocalStorage
from tests import support
from tests.crash import restore_support, rollback_support
from tests.crash.inject import copy, deaths, dying
from tests.crash.kept import assert_right_if_listed
from tests.helpers import attempt

pytestmark = pytest.mark.crash

State = Callable[[Path], frozenset[str]]
VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)


class Deletions:
    """Counts the store's deletions; of that at number ``at`` (from 0) it refuses the second half of the files."""

    def __init__(self, at: int | None) -> None:
        self.at, self.count = at, 0

    @contextmanager
    def installed(self) -> Iterator[None]:
        delete = LocalStorage.delete

        def counted(store: LocalStorage, paths: Sequence[str]) -> Sequence[DeleteOutcome]:
            self.count += 1
            done = len(paths) // 2 if self.count - 1 == self.at else len(paths)
            return [*delete(store, paths[:done]), *(DeleteOutcome(path, "refused") for path in paths[done:])]

        with dying(None), pytest.MonkeyPatch.context() as patch:
            patch.setattr(LocalStorage, "delete", counted)
            yield


def refused_everywhere(base: Path, run: Callable[[Path], None], state: State, after: frozenset[str]) -> None:
    """A metadata table of which a file cannot be deleted is deleted whole: Hudi builds it again."""
    counted = Deletions(None)
    with counted.installed():
        run(copy(base, base.parent / "whole"))
    for at in deaths(counted.count):
        table = copy(base, base.parent / f"refused-{at}")
        with Deletions(at).installed():
            error = attempt(partial(run, table))
        assert error is None or error.exit_code in (3, 12, 14, 15)
        run(table)
        given_up = error is None and not (table / ".hoodie/metadata").exists()
        assert state(table) == (_without_metadata_table(after) if given_up else after), at
        assert_right_if_listed(table)


def _without_metadata_table(state: frozenset[str]) -> frozenset[str]:
    return frozenset(name for name in state if not name.startswith(".hoodie/metadata/"))


@pytest.mark.short("v6-mor_savepoints", "v9-mor_savepoints")
@VERSIONS
@pytest.mark.parametrize(("name", "number"), [("mor_savepoints", 1), ("cow_part", 1)])
def test_in_a_restore(version: str, name: str, number: int, tmp_path: Path) -> None:
    case = restore_support._case(version, name, number, tmp_path)

    def run(base: Path) -> None:
        restore_support._restore(base, case.target, case.options)

    refused_everywhere(case.base, run, restore_support._state, case.after)


@pytest.mark.short("v6-mor_part", "v9-cow_record_index")
@VERSIONS
@pytest.mark.parametrize("name", ["mor_part", "cow_record_index", "mor_failed_direct"])
def test_in_a_rollback(version: str, name: str, tmp_path: Path) -> None:
    base = support.unpack(version, name, tmp_path)
    case = rollback_support._case(base, rollback_support._newest(base))

    def run(table: Path) -> None:
        rollback_support._roll_back(table, case.target, case.options)

    refused_everywhere(base, run, rollback_support._state, case.after)
