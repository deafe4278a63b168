"""What hudictl does not write, though the table's properties say nothing of it."""

import os

import pytest

from hudictl.errors import Unreadable, Unsupported
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.state.writable import writable_table
from hudictl.table.locks.config import NOTHING_SAID
from tests import support
from tests.fixtures import Unpack
from tests.helpers import Copy, plan, put, rollback_of, tree


@pytest.mark.parametrize("version", ["v6", "v9"])
@pytest.mark.parametrize("time", ["00000000000001", "00000000000002"])
def test_a_bootstrap_that_the_timeline_alone_tells_of(unpack: Unpack, version: str, time: str) -> None:
    copy = unpack(version, "cow_part")
    copy.write(f"{time}.commit" if version == "v6" else f"{time}_20200101000000000.commit", b"{}")
    before = tree(copy.path)
    with pytest.raises(Unsupported, match="bootstrapped"):
        plan(copy, copy.commits[-2], RestoreOptions(to_instant=True))
    with pytest.raises(Unsupported, match="bootstrapped"):
        rollback_of(copy, copy.commits[-1])
    assert tree(copy.path) == before


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
