"""Copies of real tables: what they have, what they refuse, and what is left of the source."""

import json
import os
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from hudictl.errors import Conflict, HudictlError, Refused, StorageFailed, UsageError
from hudictl.formats import properties
from hudictl.formats.file_names import PARTITION_METAFILE
from hudictl.ops.copy.plan import RECORD, CopyOptions, CopyPlan
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.session import Silent
from hudictl.storage.local import LocalStorage
from hudictl.table.open import open_table
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.bootstrap import bootstrapped
from tests.copy_support import data_files, made, planned
from tests.fixtures import Unpack
from tests.helpers import OWN, Copy, attempt, plan, put, required, restore, savepoint, tree

LAST = "end the protection of the source"
NO_SAVEPOINT = CopyOptions(savepoint=False)
TRIED = [
    (version, name, instant)
    for version in support.VERSIONS
    for name in (
        "cow_cleaned",
        "cow_cluster",
        "mor_part",
        "mor_pending_compaction",
        "mor_failed_lazy",
        "cow_savepoints",
    )
    for instant in support.facts(version, name)["rows"]
]


class At(Silent):
    """Acts when a step begins."""

    def __init__(self, name: str, act: Callable[[], object]) -> None:
        self.name, self.act = name, act

    def step(self, name: str) -> None:
        if name == self.name:
            self.act()


def refused(copy: Copy, as_of: str, to: Path, kind: type[HudictlError], named: str) -> HudictlError:
    """A plan that is refused changes nothing."""
    to.mkdir(exist_ok=True)
    before = tree(copy.path), tree(to)
    with pytest.raises(kind) as caught:
        planned(copy.table, as_of, to)
    assert named in caught.value.message
    assert (tree(copy.path), tree(to)) == before
    return caught.value


@pytest.mark.short("v6-mor_part", "v6-cow_cleaned", "v9-mor_pending_compaction", "v9-cow_cluster")
@pytest.mark.parametrize(("version", "name", "instant"), TRIED)
def test_it_has_the_files_that_a_restore_requires(
    unpack: Unpack, version: str, name: str, instant: str, tmp_path: Path
) -> None:
    """One judge: a restore to the commit requires these files, and leaves them."""
    copy, to = unpack(version, name), tmp_path / "to"
    options = RestoreOptions(to_instant=True, delete_later_savepoints=True, idle_ms=0)
    restored = attempt(lambda: plan(copy, instant, options))
    error = attempt(lambda: made(copy, instant, to, NO_SAVEPOINT))
    if error is not None:
        assert error.exit_code == 13
        assert not to.exists()
        assert restored is not None
        return
    assert restored is None or "rollback" in restored.message
    found = data_files(to)
    if restored is None:
        wanted = required(copy.table, plan(copy, instant, options).undo.case)
        blocks = {path for path in found if path not in wanted}
        assert found.keys() - blocks == {path for path, file in wanted.items() if file.size}
        assert all(version == "v6" and ".log." in path for path in blocks)
    whole = data_files(copy.path)
    assert all(whole[path] == body for path, body in found.items() if path in whole)
    times = {entry.time for entry in load_timeline(open_table(str(to))).completed_writes()}
    assert max(times) == instant or name == "cow_cluster"


@pytest.mark.slow
@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_restore_and_a_copy_end_the_same(unpack: Unpack, version: str, tmp_path: Path) -> None:
    copy, to = unpack(version, "mor_part"), tmp_path / "to"
    target = copy.commits[2]
    made(copy, target, to, CopyOptions(checksum=True))
    savepoint(copy, target)
    restore(copy, target)
    ours, theirs = Copy(version, "to", to), copy
    assert ours.commits == theirs.commits
    assert data_files(to).items() <= data_files(copy.path).items()


@pytest.mark.parametrize("version", support.VERSIONS)
def test_the_source_is_only_held(unpack: Unpack, version: str, tmp_path: Path) -> None:
    """A savepoint while it runs; then nothing but hudictl's own records."""
    copy, to = unpack(version, "mor_part"), tmp_path / "to"
    before, seen = tree(copy.path), []
    looked = At("copy", lambda: seen.append(copy.savepoints))
    result = made(copy, copy.commits[2], to, monitor=looked)
    assert result is not None
    assert (seen, copy.savepoints) == ([[copy.commits[2]]], [])
    assert {**tree(copy.path, OWN)} == before
    made(copy, copy.commits[2], tmp_path / "other", NO_SAVEPOINT, At("copy", lambda: seen.append(copy.savepoints)))
    assert seen[1:] == [[]]


def test_without_savepoint_nothing_is_written_into_the_source(unpack: Unpack, tmp_path: Path) -> None:
    copy = unpack("v9", "mor_part")
    before = tree(copy.path)
    made(copy, copy.commits[2], tmp_path / "to", NO_SAVEPOINT)
    assert tree(copy.path) == before


def test_a_savepoint_of_the_operator_stays(unpack: Unpack, tmp_path: Path) -> None:
    copy = unpack("v9", "mor_part")
    target = savepoint(copy, copy.commits[2])
    assert planned(copy.table, target, tmp_path / "to").savepoint == "exists"
    made(copy, target, tmp_path / "to")
    assert copy.savepoints == [target]
    assert Copy("v9", "to", tmp_path / "to").savepoints == []


def test_properties(unpack: Unpack, tmp_path: Path) -> None:
    """No metadata table, no lock, another name with its checksum; all else is as it was."""
    copy, to = unpack("v9", "cow_record_index"), tmp_path / "to"
    file = copy.meta / "hoodie.properties"
    lock = "hoodie.write.lock.provider=org.apache.hudi.client.transaction.lock.InProcessLockProvider\n"
    put(file, file.read_text() + lock)
    made(copy, copy.commits[-1], to, CopyOptions(name="other"))
    own = properties.decode((to / ".hoodie/hoodie.properties").read_bytes())
    old = properties.decode(file.read_bytes())
    gone = {key for key in old if "metadata.partitions" in key or "lock" in key or "index.defs" in key}
    assert len(gone) >= 2
    assert own.keys() == old.keys() - gone
    assert {key for key in own if own[key] != old[key]} == {"hoodie.table.name", "hoodie.table.checksum"}
    assert properties.valid(own)
    assert own["hoodie.table.name"] == "other"


def test_some_partitions(unpack: Unpack, tmp_path: Path) -> None:
    copy, to = unpack("v9", "mor_part"), tmp_path / "to"
    made(copy, copy.commits[-1], to, CopyOptions(partitions=("part-1",)))
    assert {path.split("/")[0] for path in data_files(to)} == {"part-1"}
    assert not (to / "part-0").exists()
    with pytest.raises(Refused, match=r"no rows as of [0-9]{17} in absent"):
        planned(copy.table, copy.commits[-1], tmp_path / "other", CopyOptions(partitions=("absent", "part-1")))


def test_nothing_is_left_to_do(unpack: Unpack, tmp_path: Path) -> None:
    copy, to = unpack("v9", "cow_part"), tmp_path / "to"
    assert made(copy, copy.commits[1], to) is not None
    before = tree(to)
    assert made(copy, copy.commits[1], to) is None
    assert tree(to) == before


def _stopped(copy: Copy, to: Path, step: str, commit: int = 2) -> None:
    def stop() -> None:
        raise StorageFailed("the network is gone")

    with pytest.raises(StorageFailed, match="the network is gone"):
        made(copy, copy.commits[commit], to, monitor=At(step, stop))


@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("step", ["protect the source", "copy", "verify", "make it a table", LAST])
def test_it_goes_on(unpack: Unpack, version: str, step: str, tmp_path: Path) -> None:
    """The same command copies what is missing; the savepoint stays until then."""
    copy, to, whole = unpack(version, "mor_part"), tmp_path / "to", tmp_path / "whole"
    made(copy, copy.commits[2], whole)
    _stopped(copy, to, step)
    assert copy.savepoints == ([] if step in ("protect the source", "make it a table") else [copy.commits[2]])
    lost = max(data_files(to), default="")
    if step == "verify":
        (to / lost).unlink()
    result = made(copy, copy.commits[2], to)
    assert result is not None
    copied = {"verify": 1, "make it a table": 0, LAST: 0}
    assert result.files_copied == copied.get(step, result.files_copied)
    assert copy.savepoints == []
    assert data_files(to) == data_files(whole)


def test_half_a_copy_is_no_table(unpack: Unpack, tmp_path: Path) -> None:
    copy, to = unpack("v9", "mor_part"), tmp_path / "to"
    _stopped(copy, to, "make it a table")
    assert not (to / ".hoodie/hoodie.properties").exists()
    assert (to / RECORD).exists()


@pytest.mark.parametrize("name", ["part-0/notes.txt", "a", ".hoodie/hoodie.properties", ".hoodie/.hudictl/copy.json"])
def test_a_folder_with_something_in_it(unpack: Unpack, name: str, tmp_path: Path) -> None:
    """Also another table, and a record that is none."""
    copy, to = unpack("v9", "cow_part"), tmp_path / "to"
    put(to / name, b"[1")
    refused(copy, copy.commits[1], to, Refused, "is not empty")


@pytest.mark.parametrize(
    "body", [b"", b"[]", b'"x"', b'{"schema_version": 2}', b'{"schema_version": 1, "source": 3}', b"\xff"]
)
def test_a_hostile_record(unpack: Unpack, body: bytes, tmp_path: Path) -> None:
    copy, to = unpack("v9", "cow_part"), tmp_path / "to"
    put(to / RECORD, body)
    refused(copy, copy.commits[1], to, Refused, "cannot be read")


def test_a_copy_of_something_else(unpack: Unpack, tmp_path: Path) -> None:
    copy, to = unpack("v9", "cow_part"), tmp_path / "to"
    made(copy, copy.commits[1], to)
    refused(copy, copy.commits[2], to, Refused, "with other arguments")
    with pytest.raises(Refused, match="with other arguments"):
        planned(copy.table, copy.commits[1], to, CopyOptions(partitions=("part-0",)))


@pytest.mark.parametrize("below", ["", "x", ".hoodie/x", ".."])
def test_folders_in_each_other(unpack: Unpack, below: str) -> None:
    copy = unpack("v9", "cow_part")
    with pytest.raises(UsageError, match="in each other"):
        planned(copy.table, copy.commits[1], copy.path / below)


def test_a_link_to_the_table(unpack: Unpack, tmp_path: Path) -> None:
    copy = unpack("v9", "cow_part")
    (tmp_path / "link").symlink_to(copy.path)
    with pytest.raises(UsageError, match="in each other"):
        planned(copy.table, copy.commits[1], tmp_path / "link" / "to")


@pytest.mark.parametrize("version", support.VERSIONS)
def test_an_archived_commit(unpack: Unpack, version: str, tmp_path: Path) -> None:
    copy = unpack(version, "cow_cleaned")
    archived = min(support.facts(version, "cow_cleaned")["rows"])
    refused(copy, archived, tmp_path / "to", Refused, "not a commit on the active timeline")


def test_a_pending_restore(unpack: Unpack, tmp_path: Path) -> None:
    copy = unpack("v9", "mor_restore_interrupted")
    refused(copy, copy.commits[0], tmp_path / "to", Refused, "a restore is pending")


def test_a_file_is_gone(unpack: Unpack, tmp_path: Path) -> None:
    copy = unpack("v9", "cow_part")
    (copy.path / max(data_files(copy.path))).unlink()
    refused(copy, copy.commits[-1], tmp_path / "to", Refused, "required file missing")


@pytest.mark.parametrize("change", ["shorter", "longer", "gone"])
@pytest.mark.parametrize("size", [10, 10_000_000])
def test_a_file_changes_while_it_is_copied(unpack: Unpack, change: str, size: int, tmp_path: Path) -> None:
    copy, to = unpack("v9", "cow_part"), tmp_path / "to"
    path = copy.path / max(path for path, body in data_files(copy.path).items() if copy.commits[-1] in path)
    body = path.read_bytes()

    def act() -> None:
        if change == "gone":
            path.unlink()
        else:
            path.write_bytes(body[:-1] if change == "shorter" else body + b"x" * size)

    with pytest.raises(Conflict, match="changed or deleted while it was copied"):
        made(copy, copy.commits[-1], to, monitor=At("copy", act))
    assert not (to / ".hoodie/hoodie.properties").exists()
    path.write_bytes(body)
    assert made(copy, copy.commits[-1], to) is not None


def test_logs_of_version_6_grow(unpack: Unpack, tmp_path: Path) -> None:
    """A writer appends behind what was listed: the copy has what was there then."""
    copy, to = unpack("v6", "mor_part"), tmp_path / "to"
    before = data_files(copy.path)

    def append() -> None:
        for path in before:
            if ".log." in path:
                with (copy.path / path).open("ab") as file:
                    file.write(b"more")

    made(copy, copy.commits[2], to, NO_SAVEPOINT, At("copy", append))
    found = {path: body for path, body in data_files(to).items() if path in before}
    assert any(".log." in path for path in found)
    assert found.items() <= before.items()


def test_a_log_that_has_grown_is_copied_again(unpack: Unpack, tmp_path: Path) -> None:
    copy, to = unpack("v6", "mor_part"), tmp_path / "to"
    _stopped(copy, to, "make it a table")
    log = copy.path / max(path for path in data_files(to) if ".log." in path and (copy.path / path).exists())
    with log.open("ab") as file:
        file.write(b"\0" * 7)
    made(copy, copy.commits[2], to)
    assert (to / log.relative_to(copy.path)).read_bytes() == log.read_bytes()


@pytest.mark.parametrize("what", ["other", "more", "timeline"])
def test_files_of_others_in_the_target(unpack: Unpack, what: str, tmp_path: Path) -> None:
    """While a copy is not done: a file of another size, one more beside those of the copy, and a commit."""
    copy, to = unpack("v9", "cow_part"), tmp_path / "to"
    _stopped(copy, to, "make it a table")
    path = max(data_files(to))
    names = {
        "other": path,
        "more": f"{path}x",
        "timeline": ".hoodie/timeline/20261121030250364_20261121030250365.clean",
    }
    put(to / names[what], b"theirs")
    with pytest.raises(Refused, match="another file" if what == "other" else "should not be there"):
        made(copy, copy.commits[2], to)
    assert (to / names[what]).read_bytes() == b"theirs"
    assert not (to / ".hoodie/hoodie.properties").exists()


def test_checksum(unpack: Unpack, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A store that has changed a byte, and kept the size."""
    copy, to = unpack("v9", "cow_part"), tmp_path / "to"
    copied = LocalStorage.copy_from

    def flipped(self: LocalStorage, source: LocalStorage, path: str, size: int, *, grows: bool) -> None:
        copied(self, source, path, size, grows=grows)
        if path.endswith(".parquet"):
            body = (to / path).read_bytes()
            (to / path).write_bytes(body[:-1] + bytes([body[-1] ^ 1]))

    monkeypatch.setattr(LocalStorage, "copy_from", flipped)
    with pytest.raises(Refused, match="the copy is wrong"):
        made(copy, copy.commits[1], to, CopyOptions(checksum=True))
    assert not (to / ".hoodie/hoodie.properties").exists()
    assert made(copy, copy.commits[1], tmp_path / "unseen", NO_SAVEPOINT) is not None


def test_a_partition_behind_a_link(unpack: Unpack, tmp_path: Path) -> None:
    """Its files are read; the copy has files of its own."""
    copy, to = unpack("v9", "cow_part"), tmp_path / "to"
    (copy.path / "part-0").rename(tmp_path / "elsewhere")
    (copy.path / "part-0").symlink_to(tmp_path / "elsewhere")
    made(copy, copy.commits[-1], to)
    assert not (to / "part-0").is_symlink()
    assert any(path.startswith("part-0/") for path in data_files(to))


def test_a_link_in_the_target(unpack: Unpack, tmp_path: Path) -> None:
    """That comes in while it is copied is not followed."""
    copy, to, away = unpack("v9", "cow_part"), tmp_path / "to", tmp_path / "away"
    away.mkdir()
    with pytest.raises(StorageFailed, match="symbolic link"):
        made(copy, copy.commits[-1], to, monitor=At("copy", lambda: (to / "part-0").symlink_to(away)))
    assert [*away.iterdir()] == []


def test_a_link_in_a_file_of_the_timeline(unpack: Unpack, tmp_path: Path) -> None:
    copy, secret = unpack("v9", "cow_part"), tmp_path / "secret"
    secret.write_bytes(b"secret")
    (copy.timeline / "history").mkdir(exist_ok=True)
    (copy.timeline / "history" / "x").symlink_to(secret)
    error = attempt(lambda: made(copy, copy.commits[-1], tmp_path / "to"))
    assert error is not None
    assert b"secret" not in b"".join(path.read_bytes() for path in (tmp_path / "to").rglob("*") if path.is_file())


def test_a_metafile_is_made(unpack: Unpack, tmp_path: Path) -> None:
    copy, to = unpack("v9", "cow_part"), tmp_path / "to"
    (copy.path / "part-0" / PARTITION_METAFILE).unlink()
    made(copy, copy.commits[-1], to)
    body = (to / "part-0" / PARTITION_METAFILE).read_text()
    assert f"commitTime={copy.commits[-1]}" in body
    assert "partitionDepth=1" in body


def test_a_clean_appears_before_the_savepoint(unpack: Unpack, tmp_path: Path) -> None:
    copy, to = unpack("v9", "cow_part"), tmp_path / "to"
    clean = At("begin the copy", lambda: copy.write("20261121040000000.clean.requested"))
    with pytest.raises(Conflict, match="appeared since the copy was planned"):
        made(copy, copy.commits[-1], to, monitor=clean)
    assert copy.savepoints == []


def test_a_savepoint_of_another_is_not_deleted(unpack: Unpack, tmp_path: Path) -> None:
    """An operator has put one in its place meanwhile."""
    copy, to = unpack("v9", "cow_part"), tmp_path / "to"

    def other() -> None:
        file = copy.file(copy.commits[2], "savepoint")
        file.write_bytes(file.read_bytes().replace(b"protects the source", b"protects the SOURCE"))

    made(copy, copy.commits[2], to, monitor=At("verify", other))
    assert copy.savepoints == [copy.commits[2]]


def test_blocks_of_instants_that_the_copy_has_not(unpack: Unpack, tmp_path: Path) -> None:
    """Version 6: each gets a rollback block, once, also after a crash."""
    copy, to = unpack("v6", "mor_part"), tmp_path / "to"
    made_plan = planned(copy.table, copy.commits[1], to)
    assert made_plan.rollback_blocks > 0
    _stopped(copy, to, "verify", 1)
    before = data_files(to)
    made(copy, copy.commits[1], to)
    assert data_files(to) == before
    assert len(before) > sum(folder.number for folder in made_plan.folders) - made_plan.partitions


def test_requests(unpack: Unpack, tmp_path: Path) -> None:
    copy = unpack("v9", "cow_part")
    found: CopyPlan = planned(copy.table, copy.commits[-1], tmp_path / "to")
    assert found.requests == 0
    remote = replace(found, to="s3://bucket/to")
    assert remote.requests >= found.files + found.timeline_files


def test_the_record(unpack: Unpack, tmp_path: Path) -> None:
    copy, to = unpack("v9", "cow_part"), tmp_path / "to"
    made(copy, copy.commits[1], to)
    found = json.loads((to / RECORD).read_bytes())
    assert found == {
        "schema_version": 1,
        "source": copy.table.uri,
        "as_of": copy.commits[1],
        "partitions": [],
        "name": "cow_part",
        "ended": True,
    }


@pytest.mark.parametrize("version", support.VERSIONS)
def test_rows_in_files_outside_of_the_table(version: str, tmp_path: Path) -> None:
    copy = bootstrapped(version, "mor_mixed", tmp_path / "source")
    refused(copy, copy.commits[-1], tmp_path / "to", Refused, "is bootstrapped")


@pytest.mark.parametrize(
    ("mode", "umask", "wanted"),
    [(0o700, 0o022, 0o700), (0o775, 0o077, 0o700), (0o2750, 0, 0o750), (0o1777, 0, 0o777), (0o555, 0o002, 0o755)],
)
def test_access_rights(unpack: Unpack, mode: int, umask: int, wanted: int, tmp_path: Path) -> None:
    """Not wider open than the table, nor than the umask says, whoever may write into the folder above."""
    copy, above = unpack("v9", "cow_part"), tmp_path / "above"
    above.mkdir()
    above.chmod(0o1777)
    copy.path.chmod(mode)
    before = os.umask(umask)
    try:
        made(copy, copy.commits[1], above / "new" / "to")
    finally:
        os.umask(before)
    found = {path: stat.S_IMODE(path.stat().st_mode) for path in [above / "new" / "to", *(above / "new/to").rglob("*")]}
    assert {mode for path, mode in found.items() if path.is_dir()} == {wanted}
    assert {mode for path, mode in found.items() if path.is_file()} == {wanted & 0o666}
    assert stat.S_IMODE((above / "new").stat().st_mode) == 0o777 & ~umask


def test_a_folder_that_is_there_says_the_access_rights(unpack: Unpack, tmp_path: Path) -> None:
    copy, to = unpack("v9", "cow_part"), tmp_path / "to"
    to.mkdir()
    to.chmod(0o2770)
    made(copy, copy.commits[1], to)
    assert {stat.S_IMODE(path.stat().st_mode) for path in to.rglob("*") if path.is_dir()} == {0o2770}


def test_a_file_in_the_place_of_a_folder(unpack: Unpack, tmp_path: Path) -> None:
    copy = unpack("v9", "cow_part")
    file = put(tmp_path / "file", b"")
    for to in (file, file / "to", file / "far" / "to"):
        with pytest.raises(Refused, match="/file is no folder, but a file"):
            planned(copy.table, copy.commits[1], to)
