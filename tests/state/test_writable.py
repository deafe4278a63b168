"""What hudictl does not write, though the table's properties say nothing of it."""

import os
from pathlib import Path

import pytest

from hudictl.engine.local import LocalEngine
from hudictl.errors import Refused, Unreadable, Unsupported
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.reports.health.check import check_table
from hudictl.state.writable import writable_table
from hudictl.table.locks.config import NOTHING_SAID
from tests import support
from tests.bootstrap import bootstrapped
from tests.fixtures import Unpack
from tests.helpers import Copy, plan, put, restore, roll_back, rollback_of, savepoint


@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_bootstrap_of_whole_records_is_a_table_as_others(version: str, tmp_path: Path) -> None:
    """Its rows are in it: it can be restored to its bootstrap, which alone cannot go."""
    copy = bootstrapped(version, "cow_full", tmp_path)
    full, *_, last = copy.commits
    savepoint(copy, full)
    with pytest.raises(Refused, match=f"{full} is the table's bootstrap"):
        rollback_of(copy, full)
    roll_back(copy, last)
    restore(copy, full)
    assert copy.commits == [full]


def with_format(copy: Copy, form: str) -> Copy:
    file = copy.meta / "hoodie.properties"
    lines = [line for line in file.read_text().splitlines() if not line.startswith("hoodie.table.base.file.format=")]
    put(file, "\n".join([*lines, f"hoodie.table.base.file.format={form}"]))
    return copy


@pytest.mark.parametrize(
    ("version", "form"),
    [
        *((version, form) for version in support.VERSIONS for form in ("PARQUET", "ORC", "HFILE", "orc")),
        ("v9", "LANCE"),
    ],
)
def test_base_file_formats_of_hudi(unpack: Unpack, version: str, form: str) -> None:
    writable_table(with_format(unpack(version, "cow_part"), form).table, NOTHING_SAID)


@pytest.mark.parametrize(("version", "form"), [("v6", "LANCE"), ("v8", "lance"), ("v6", "AVRO"), ("v9", "HOODIE_LOG")])
def test_other_base_file_formats(unpack: Unpack, version: str, form: str) -> None:
    """Hudi 0.15.0 and 1.0.2 do not know the name LANCE."""
    with pytest.raises(Unsupported, match=f"base file format '{form.upper()}'"):
        writable_table(with_format(unpack(version, "cow_part"), form).table, NOTHING_SAID)


@pytest.mark.parametrize("of", ["the table", "the metadata table"])
@pytest.mark.parametrize("version", support.VERSIONS)
def test_half_an_upgrade_or_downgrade(unpack: Unpack, version: str, of: str) -> None:
    """Hudi 1.2.0 moves the instants one by one, and changes the properties last. A completed write, whose savepoint is
    moved already, would count as failed: its files would be deleted."""
    copy = unpack(version, "mor_part")
    meta = copy.meta / ("metadata/.hoodie" if of == "the metadata table" else "")
    here, there = (meta, meta / "timeline") if version == "v6" else (meta / "timeline", meta)
    moved = min(here.glob("[0-9]*.deltacommit*"))
    there.mkdir(exist_ok=True)
    (there / "history").mkdir(exist_ok=True)
    writable_table(copy.table, NOTHING_SAID)
    moved.rename(there / moved.name)
    with pytest.raises(
        Unsupported, match=f"{moved.name}, but table version {version[1:]}: .* was interrupted"
    ) as found:
        writable_table(copy.table, NOTHING_SAID)
    assert "upgrade_table" in found.value.hint
    found_by_check = check_table(copy.table, LocalEngine(), 0).findings
    assert [entry.finding for entry in found_by_check] == ["upgrade-interrupted"]


@pytest.mark.parametrize("kind", ["link", "link to itself", "pipe"])
@pytest.mark.parametrize("state", ["", ".requested"])
def test_an_instant_that_is_no_regular_file(unpack: Unpack, kind: str, state: str) -> None:
    """Its content may be a file that only the operator may read. Refused before the first write."""
    copy = unpack("v6", "cow_part")
    file, secret = copy.timeline / f"{copy.commits[-1]}.commit{state}", copy.path.parent / "secret"
    secret.write_bytes(file.read_bytes())
    file.unlink()
    if kind == "pipe":
        os.mkfifo(file)
    else:
        file.symlink_to(secret if kind == "link" else file.name)
    before = sorted(os.listdir(copy.meta))
    with pytest.raises(Unreadable, match="no regular file"):
        plan(copy, copy.commits[0], RestoreOptions(to_instant=True))
    with pytest.raises(Unreadable, match="no regular file"):
        rollback_of(copy, copy.commits[-1])
    assert sorted(os.listdir(copy.meta)) == before
