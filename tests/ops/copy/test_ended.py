"""What a copy has become: half of one is no table, and one that is there is compared, whoever has made it a table."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.errors import Conflict, Findings, Refused, Unreadable
from hudictl.formats.layouts import PROPERTIES
from hudictl.ops.copy.plan import CopyOptions
from hudictl.table.copied import RECORD
from hudictl.table.open import open_table
from tests.copy_support import LAST, data_files, held, made, planned
from tests.fixtures import Unpack
from tests.helpers import At, Copy, drop, put, savepoint, tree

CHECKSUM = CopyOptions(checksum=True)


def differs(copy: Copy, as_of: str, to: Path, options: CopyOptions | None = None) -> Findings:
    """It is compared, and nothing changes."""
    before = tree(copy.path), tree(to)
    with pytest.raises(Findings, match="differs from the table") as caught:
        planned(copy.table, as_of, to, options)
    assert (tree(copy.path), tree(to)) == before
    return caught.value


def as_an_older_release(to: Path) -> None:
    record = json.loads((to / RECORD).read_bytes())
    del record["ended"]
    put(to / RECORD, json.dumps(record).encode())


@pytest.mark.parametrize("body", [None, b"[1"])
def test_half_a_copy_is_not_repaired(unpack: Unpack, body: bytes | None, tmp_path: Path) -> None:
    """The properties are not lost: they were never there. Also where the record cannot be read."""
    copy, to = unpack("v9", "cow_part"), tmp_path / "to"
    held(copy, to, copy.commits[1], "write rollback blocks")
    if body:
        put(to / RECORD, body)
    for salvage in (None, {"hoodie.table.version": "9"}):
        with pytest.raises(Refused, match="half a copy") as caught:
            open_table(str(to), salvage=salvage)
        command = f"hudictl copy --table={copy.table.uri} --as-of={copy.commits[1]} --to=file://{to}"
        assert (command in caught.value.hint) is (body is None)


def test_half_a_copy_that_was_made_a_table(unpack: Unpack, tmp_path: Path) -> None:
    """Its rows are missing: it is not done. The savepoint stays until the copy is whole."""
    copy, to = unpack("v9", "cow_part"), tmp_path / "to"
    target = copy.commits[1]
    held(copy, to, target)
    lost = max(data_files(to))
    body = (to / lost).read_bytes()
    (to / lost).unlink()
    put(to / PROPERTIES, (copy.path / PROPERTIES).read_bytes())
    error = differs(copy, target, to)
    assert error.fields["files"] == [lost]
    assert "may be half a copy" in error.hint
    put(to / lost, body)
    assert made(copy, target, to) is not None
    assert copy.savepoints == []
    assert planned(copy.table, target, to).done


def test_a_finished_copy_of_an_older_release(unpack: Unpack, tmp_path: Path) -> None:
    copy, to = unpack("v9", "cow_part"), tmp_path / "to"
    made(copy, copy.commits[1], to)
    as_an_older_release(to)
    result = made(copy, copy.commits[1], to)
    assert result is not None
    assert result.files_copied == 0
    assert copy.savepoints == []
    assert planned(copy.table, copy.commits[1], to).done


def test_its_savepoint_is_ended_all_the_same(unpack: Unpack, tmp_path: Path) -> None:
    copy, to = unpack("v9", "cow_part"), tmp_path / "to"
    target = copy.commits[1]
    held(copy, to, target)
    file = copy.file(target, "savepoint")
    kept = {path.name: path.read_bytes() for path in copy.timeline.glob(f"{target}*savepoint*")}
    made(copy, target, to)
    for name, body in kept.items():
        put(file.with_name(name), body)
    assert made(copy, target, to) is not None
    assert copy.savepoints == []


def test_the_operators_savepoint_stays(unpack: Unpack, tmp_path: Path) -> None:
    copy, to = unpack("v9", "cow_part"), tmp_path / "to"
    made(copy, copy.commits[1], to)
    savepoint(copy, copy.commits[1])
    assert planned(copy.table, copy.commits[1], to).done


def test_another_ends_it_meanwhile(unpack: Unpack, tmp_path: Path) -> None:
    """Nothing is copied into a table."""
    copy, to = unpack("v9", "cow_part"), tmp_path / "to"

    def end() -> None:
        made(copy, copy.commits[1], to)
        (to / max(data_files(to))).unlink()
        left.append(tree(to))

    left: list[object] = []
    with pytest.raises(Conflict, match="has just become a table"):
        made(copy, copy.commits[1], to, monitor=At("begin the copy", end))
    assert left == [tree(to)]


def test_properties_that_are_lost_later_can_be_repaired(unpack: Unpack, tmp_path: Path) -> None:
    copy, to = unpack("v9", "cow_part"), tmp_path / "to"
    made(copy, copy.commits[1], to)
    drop(to / PROPERTIES)
    with pytest.raises(Unreadable, match="lost"):
        open_table(str(to))
    assert open_table(str(to), salvage={}).name == ""


def _flip(path: Path) -> None:
    body = path.read_bytes()
    path.write_bytes(body[:-1] + bytes([body[-1] ^ 1]))


@pytest.mark.parametrize(
    ("harm", "options"),
    [
        (Path.unlink, None),
        (lambda path: path.write_bytes(b"x"), None),
        (lambda path: path.with_name("more").write_bytes(b"x"), None),
        (_flip, CHECKSUM),
    ],
    ids=["gone", "shorter", "more", "contents"],
)
def test_a_finished_copy_is_compared(
    unpack: Unpack, harm: Callable[[Path], object], options: CopyOptions | None, tmp_path: Path
) -> None:
    copy, to = unpack("v9", "cow_part"), tmp_path / "to"
    made(copy, copy.commits[1], to)
    assert planned(copy.table, copy.commits[1], to, options).done
    path = max(data_files(to))
    harm(to / path)
    assert differs(copy, copy.commits[1], to, options).fields["files"] in ([path], [f"{path.rpartition('/')[0]}/more"])


def test_its_properties_are_compared(unpack: Unpack, tmp_path: Path) -> None:
    """Also those that are damaged. A writer may add some."""
    copy, to = unpack("v9", "cow_part"), tmp_path / "to"
    made(copy, copy.commits[1], to)
    body = (to / PROPERTIES).read_bytes()
    put(to / PROPERTIES, body + b"hoodie.more=1\n")
    assert planned(copy.table, copy.commits[1], to).done
    for wrong in (body.replace(b"hoodie.table.type", b"hoodie.table.epyt"), b""):
        put(to / PROPERTIES, wrong)
        assert differs(copy, copy.commits[1], to).fields["files"] == [PROPERTIES]


def test_its_rollback_blocks_are_compared(unpack: Unpack, tmp_path: Path) -> None:
    """Version 6: without them, readers would see rows of later instants."""
    copy, to = unpack("v6", "mor_pending_compaction"), tmp_path / "to"
    target = copy.commits[4]
    made(copy, target, to)
    assert planned(copy.table, target, to).done
    block = max(path for path in data_files(to) if not (copy.path / path).exists())
    (to / block).unlink()
    assert differs(copy, target, to).fields["files"] == [block]


def test_a_metafile_that_the_copy_has_alone(unpack: Unpack, tmp_path: Path) -> None:
    copy, to = unpack("v9", "cow_part"), tmp_path / "to"
    (copy.path / "part-0/.hoodie_partition_metadata").unlink()
    made(copy, copy.commits[1], to)
    assert planned(copy.table, copy.commits[1], to).done


def test_it_cannot_be_compared_any_more(unpack: Unpack, tmp_path: Path) -> None:
    """The table has lost the files since."""
    copy, to = unpack("v9", "cow_part"), tmp_path / "to"
    made(copy, copy.commits[1], to)
    path = max(data_files(to))
    (copy.path / path).unlink()
    with pytest.raises(Refused, match=r"cannot be compared: .*required file missing") as caught:
        planned(copy.table, copy.commits[1], to)
    assert f"`hudictl check --table=file://{to}`" in caught.value.hint


def test_one_with_its_savepoint_does_not_end_without(unpack: Unpack, tmp_path: Path) -> None:
    copy, to = unpack("v9", "cow_part"), tmp_path / "to"
    held(copy, to, copy.commits[1], LAST)
    put(to / PROPERTIES, (copy.path / PROPERTIES).read_bytes())
    with pytest.raises(Refused, match="has begun with a temporary savepoint"):
        planned(copy.table, copy.commits[1], to, CopyOptions(savepoint=False))
