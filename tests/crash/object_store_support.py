"""What the tests of object store share with others."""

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hudictl.errors import StorageFailed
from hudictl.ops.restore.execute import execute_restore
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.restore.planning import plan_restore
from hudictl.ops.session import Monitor, Silent
from hudictl.storage.remote import RemoteStorage
from hudictl.storage.s3 import S3Storage
from hudictl.table.open import open_table
from hudictl.table.properties import read_properties
from hudictl.table.table import Table
from tests.crash import reader
from tests.crash.inject import Crash, deaths, dying
from tests.crash.restore_support import OPTIONS, Case, _case, _check_promise, _state
from tests.helpers import attempt, session
from tests.s3 import S3
from tests.stores.server import Server


@dataclass(frozen=True)
class Place:
    """Where copies of a case's table are put, one after the other."""

    s3: S3 | Server
    case: Case
    folder: Path
    opened: Table

    def copy(self, name: str) -> str:
        """A new copy of the table; its prefix."""
        prefix = f"{uuid.uuid4()}/{name}"
        self.s3.upload(self.case.base, prefix)
        return prefix

    def table(self, prefix: str) -> Table:
        store = self.opened.storage
        assert isinstance(store, RemoteStorage)
        bucket = store.root.partition("/")[0]
        here = replace(store, base=f"{self.s3.root}/{prefix}", root=f"{bucket}/{prefix}")
        return replace(self.opened, storage=here, properties=read_properties(here))

    def restore(self, prefix: str, monitor: Monitor) -> None:
        table = self.table(prefix)
        plan = plan_restore(session(table), self.case.target, self.case.options)
        if not plan.nothing_to_do:
            execute_restore(session(table, monitor), plan)

    def download(self, prefix: str, name: str) -> Path:
        return self.s3.download(prefix, self.folder / name / prefix)

    def finish(self, prefix: str) -> None:
        """What the crash has left keeps the promise; the same command finishes it, as on local files."""
        _check_promise(self.case, self.download(prefix, "crashed"))
        self.restore(prefix, Silent())
        base = self.download(prefix, "done")
        assert _state(base) == {name for name in self.case.after if not name.endswith(".crc")}
        assert reader.snapshot(base).digest == reader.as_of(base, self.case.target).digest
        self.s3.drop(prefix)


@pytest.fixture
def place(s3: S3, tmp_path: Path, request: pytest.FixtureRequest) -> Place:
    return place_of(s3, tmp_path, *request.param)


def place_of(
    s3: S3 | Server, folder: Path, version: str, name: str, number: int, options: RestoreOptions = OPTIONS
) -> Place:
    """A place on a running server."""
    case = _case(version, name, number, folder, options)
    opened = open_table(s3.upload(case.base, str(uuid.uuid4())), s3.options)
    return Place(s3, case, folder, opened)


@dataclass
class DieAt(Silent):
    """A process that is gone when a step begins; None only counts the steps."""

    at: int | None
    count: int = 0

    def step(self, name: str) -> None:
        self.count += 1
        if self.count - 1 == self.at:
            raise Crash(name)


def die_at_each_step(place: Place, every: int = 1) -> None:
    counted = DieAt(None)
    place.restore(place.copy("whole"), counted)
    for at in deaths(counted.count, every):
        prefix = place.copy(f"step {at}")
        with dying(None), pytest.raises(Crash):
            place.restore(prefix, DieAt(at))
        place.finish(prefix)


class Store:
    """Stands for the store's two kinds of change; at number ``at`` (from 0) something happens to one."""

    def __init__(self, at: int | None, mode: str) -> None:
        self.at, self.mode, self.count = at, mode, 0

    @contextmanager
    def installed(self) -> Iterator[None]:
        put = RemoteStorage._put

        def put_counted(store: RemoteStorage, verb: str, path: str, body: bytes, **mode: str) -> None:
            if self._is_now():
                if self.mode == "fails":
                    raise StorageFailed("injected")
                raise Crash(path)
            put(store, verb, path, body, **mode)

        def counted(delete: Callable[..., Mapping[str, str]]) -> Callable[..., Mapping[str, str]]:
            def delete_counted(store: RemoteStorage, names: Sequence[str]) -> Mapping[str, str]:
                if self._is_now():
                    # Of one call's keys, a store may have deleted some.
                    done = delete(store, names[: len(names) // 2])
                    if self.mode == "fails":
                        return {**done, **dict.fromkeys(names[len(names) // 2 :], "injected")}
                    raise Crash(str(names))
                return delete(store, names)

            return delete_counted

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(RemoteStorage, "_put", put_counted)
            for kind in (RemoteStorage, S3Storage):
                patch.setattr(kind, "_delete", counted(kind._delete))
            yield

    def _is_now(self) -> bool:
        self.count += 1
        return self.count - 1 == self.at


def end_at_each_change(place: Place, mode: str) -> None:
    counted = Store(None, mode)
    with counted.installed():
        place.restore(place.copy("whole"), Silent())
    for at in deaths(counted.count):
        prefix = place.copy(f"change {at}")
        store: Any = Store(at, mode)
        with dying(None), store.installed():
            if mode == "dies":
                with pytest.raises(Crash):
                    place.restore(prefix, Silent())
            else:
                error = attempt(partial(place.restore, prefix, Silent()))
                assert error is None or error.exit_code in (3, 12, 14, 15)
        place.finish(prefix)
