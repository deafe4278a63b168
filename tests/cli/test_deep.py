"""Whether what a savepoint needs can be read: contents, not names and sizes alone."""

import os
import re
import struct
from pathlib import Path

import pytest

from hudictl import workers
from hudictl.formats.file_names import parse_data_file
from hudictl.formats.log_blocks import AVRO_DATA, HEADER_KEYS, INSTANT_TIME, encode_block
from tests import support
from tests.cli.conftest import Tell, Unpack
from tests.helpers import Copy, put, tree

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
LOCAL = ("--engine", "local")
DEAD = "20261121235959000"


def overwrite(path: Path, offset: int, body: bytes) -> None:
    """The size and the time stay."""
    before = path.stat()
    with open(path, "r+b") as file:
        file.seek(offset, os.SEEK_END if offset < 0 else os.SEEK_SET)
        file.write(body)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def needed_of(copy: Copy, target: str, *, logs: bool) -> str:
    """A file with rows that the target has written."""
    for path in sorted(copy.data(), reverse=True):
        data = parse_data_file(path.rpartition("/")[2])
        if data is not None and data.is_base is not logs:
            writers = (
                {data.instant} if data.is_base else set(re.findall(r"\d{17}", (copy.path / path).read_text("latin1")))
            )
            if target in writers:
                return path
    raise AssertionError("there is none")


def verified(tell: Tell, copy: Copy, target: str, *options: str) -> tuple[int, str]:
    said = tell("savepoint", "show", target, "--verify", "-t", copy.path, *LOCAL, *options)
    return said.code, said.out + said.err


@VERSIONS
@pytest.mark.parametrize("name", ["cow_savepoints", "mor_savepoints"])
def test_honest_savepoints(unpack: Unpack, tell: Tell, version: str, name: str) -> None:
    copy = unpack(version, name)
    target = copy.savepoints[-1]
    code, said = verified(tell, copy, target, "--deep")
    assert (code, "footers and logs read)" in said) == (0, True), said
    assert "--deep reads them" in verified(tell, copy, target)[1]


@pytest.mark.slow
@VERSIONS
@pytest.mark.parametrize("name", ["mor_part", "mor_parquet_logs", "cow_cdc", "mor_flat_nomdt"])
def test_honest_commits(unpack: Unpack, tell: Tell, version: str, name: str) -> None:
    """No savepoint is needed, and each kind of log is read."""
    copy = unpack(version, name)
    for target in copy.commits:
        plain = tell("restore", "--to-instant", target, "--plan", "-t", copy.path, *LOCAL)
        said = tell("restore", "--to-instant", target, "--plan", "--deep", "-t", copy.path, *LOCAL)
        assert said.code == plain.code, said.err


@VERSIONS
@pytest.mark.parametrize(
    ("name", "offset", "problem"),
    [("cow_savepoints", -8, "footer"), ("mor_savepoints", 2, "that readers skip")],
)
def test_a_damaged_file_is_found_and_refuses_the_restore(
    unpack: Unpack, tell: Tell, version: str, name: str, offset: int, problem: str
) -> None:
    copy = unpack(version, name)
    target = copy.savepoints[-1]
    path = needed_of(copy, target, logs=name.startswith("mor"))
    overwrite(copy.path / path, offset, b"\0" * 4)
    assert verified(tell, copy, target)[0] == 0
    code, said = verified(tell, copy, target, "--deep")
    assert (code, path in said, problem in said) == (3, True, True), said

    before = tree(copy.path)
    said = tell("restore", target, "--deep", "--yes", "-t", copy.path, *LOCAL)
    assert (said.code, path in said.err, problem in said.err) == (13, True, True)
    assert tree(copy.path) == before


@VERSIONS
@pytest.mark.parametrize("zeros", [True, False])
def test_a_log_at_which_readers_fail_is_found_whoever_wrote_it(
    unpack: Unpack, tell: Tell, version: str, zeros: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing in it says whose rows it had; or a header has a key that no release knows. Also where the log is read in
    pieces."""
    copy = unpack(version, "mor_savepoints")
    target = copy.savepoints[-1]
    path = needed_of(copy, target, logs=True)
    body = (copy.path / path).read_bytes()
    key = struct.pack(">ii", HEADER_KEYS.index(INSTANT_TIME), len(target)) + target.encode()
    offset, part = (0, bytes(len(body))) if zeros else (body.index(key), struct.pack(">i", 66))
    overwrite(copy.path / path, offset, part)
    code, said = verified(tell, copy, target, "--deep")
    assert (code, path in said) == (3, True), said
    monkeypatch.setattr(workers, "PIECE_BYTES", 1)
    assert verified(tell, copy, target, "--deep") == (code, said)


def test_later_files_that_still_have_the_rows_are_named(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]
    path = needed_of(copy, target, logs=False)
    later = max(entry for entry in copy.data() if entry.startswith(path.split("_")[0]))
    assert later.rpartition("_")[2] > path.rpartition("_")[2]
    overwrite(copy.path / path, -8, b"\0" * 8)
    assert later in verified(tell, copy, target, "--deep")[1]


def test_what_a_dead_writer_has_torn_is_no_damage(unpack: Unpack, tell: Tell) -> None:
    """Readers are to skip it, and nothing of a completed commit is in it."""
    copy = unpack("v6", "mor_savepoints")
    target = copy.savepoints[-1]
    path = needed_of(copy, target, logs=True)
    body = (copy.path / path).read_bytes()
    torn = encode_block(AVRO_DATA, {INSTANT_TIME: DEAD}, b"rows" * 20)[:-30]
    put(copy.path / path, body + torn)
    code, said = verified(tell, copy, target, "--deep")
    assert (code, "footers and logs read)" in said) == (0, True), said
    # The same bytes of a committed write are damage.
    put(copy.path / path, body + torn.replace(DEAD.encode(), target.encode()))
    code, said = verified(tell, copy, target, "--deep")
    assert (code, f"{path} (byte {len(body):,}: " in said) == (3, True), said


def test_it_needs_verify(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_savepoints")
    assert tell("savepoint", "show", copy.savepoints[0], "--deep", "-t", copy.path).code == 2


def test_a_saved_plan_proves_it_again(unpack: Unpack, tell: Tell, tmp_path: Path) -> None:
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]
    said = tell("restore", target, "--deep", "--plan", "-o", "json", "-t", copy.path, *LOCAL)
    file = tmp_path / "plan.json"
    file.write_text(said.out)
    path = needed_of(copy, target, logs=False)
    overwrite(copy.path / path, -8, b"\0" * 8)
    before = tree(copy.path)
    said = tell("apply", str(file), *LOCAL)
    assert (said.code, path in said.err) == (13, True)
    assert tree(copy.path) == before
