"""The facts of tests/logs are Hudi's own, and hudictl's reader finds the blocks that Hudi finds."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hudictl.formats.log_blocks import read_blocks
from tests import support
from tests.interop.judge import Judge
from tests.interop.make_logs import log_files, state

# With the long form: neither the archives nor the releases that read them change.
pytestmark = [pytest.mark.hudi, pytest.mark.full]

Judges = Callable[[str], Judge]
Unpacked = dict[str, Path]


@pytest.fixture(scope="module", params=support.VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def unpacked(version: str, tmp_path_factory: pytest.TempPathFactory) -> Unpacked:
    folder = tmp_path_factory.mktemp(version)
    return {name: support.unpack_logs(version, name, folder) for name in support.log_names(version)}


def blocks(path: Path) -> list[list[Any]]:
    """hudictl's blocks of a file, as the judge's ``replay`` has them."""
    body = path.read_bytes()
    found = read_blocks(lambda offset, length: body[offset : offset + length], len(body))
    return [[one.block_type, dict(one.header), one.content_offset, one.content_length] for one in found]


def test_hudi_reads_the_recorded_blocks_and_records(judge: Judges, version: str, unpacked: Unpacked) -> None:
    facts = support.log_facts(version)
    assert set(facts) == set(unpacked)
    for name, base in unpacked.items():
        read = {str(path.relative_to(base)): judge(version).log_records(path) for path in log_files(base)}
        assert read == facts[name]["logs"], name


def test_hudi_reads_the_recorded_states(judge: Judges, version: str, unpacked: Unpacked) -> None:
    facts = support.log_facts(version)
    assert {name: state(judge(version), base) for name, base in unpacked.items()} == {
        name: fact["state"] for name, fact in facts.items()
    }


def test_hudictl_finds_the_blocks_that_hudi_finds(judge: Judges, version: str, unpacked: Unpacked) -> None:
    found = {path: blocks(path) for base in unpacked.values() for path in log_files(base)}
    for path in found:
        read = judge(version).log_blocks(path)
        assert found[path] == [
            [one["type"], one["header"], one["content_offset"], one["content_bytes"]] for one in read
        ]


def test_a_replay_goes_on_behind_a_bad_file(judge: Judges, version: str, tmp_path: Path, unpacked: Unpacked) -> None:
    whole = log_files(unpacked["several_blocks"])[0]
    body = whole.read_bytes()
    files = {"whole": body, "cut": body[:-1], "text": b"not a log", "empty": b"", "torn magic": body + b"#HUDI"}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    replayed = judge(version).replay(tmp_path)
    assert replayed["whole"] == {"blocks": blocks(whole), "error": []}
    assert replayed["torn magic"] == replayed["whole"]
    assert replayed["empty"] == {"blocks": [], "error": []}
    assert [one[0] for one in replayed["cut"]["blocks"]][-2:] == ["AVRO_DATA_BLOCK", "CORRUPT_BLOCK"]
    assert replayed["text"]["blocks"] == []
    assert "magic bytes" in replayed["text"]["error"][0]
