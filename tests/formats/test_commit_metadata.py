"""Commit metadata: JSON in layout 1, Avro in layout 2; the same facts from both."""

import importlib.util
import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudictl.errors import Unreadable
from hudictl.formats import commit_metadata
from hudictl.formats.commit_metadata import CommitMetadata, WriteStat
from tests.formats import generic, real_files

COMPLETED = (".commit", ".deltacommit", ".replacecommit")
REAL = [*real_files.matching(real_files.ending(*COMPLETED))]
IN_FLIGHT = [*real_files.matching(real_files.ending(".inflight"))]


@pytest.mark.parametrize("version", ["v6", "v8", "v9"])
def test_real_commits(version: str) -> None:
    """Operation, statistics, replaced groups and sums, against the raw JSON or a generic Avro reader."""
    checked = 0
    for label, body in REAL:
        if not label.startswith(version):
            continue
        raw = json.loads(body) if version == "v6" else generic.read(body)
        found = commit_metadata.decode(body, label)
        stats = [stat for entries in raw["partitionToWriteStats"].values() for stat in entries]
        assert found.operation == raw["operationType"]
        assert found.file_count == len(stats)
        assert found.records == sum(stat["numWrites"] for stat in stats)
        assert found.written_bytes == sum(stat["totalWriteBytes"] for stat in stats)
        assert {path: list(ids) for path, ids in found.replaced.items()} == (raw.get("partitionToReplaceFileIds") or {})
        for path, entries in raw["partitionToWriteStats"].items():
            for stat, entry in zip(found.stats[path], entries, strict=True):
                assert stat == WriteStat(
                    entry["fileId"],
                    entry["path"],
                    entry["prevCommit"],
                    entry["numWrites"],
                    entry["numDeletes"],
                    entry["numInserts"],
                    entry["numUpdateWrites"],
                    entry["totalWriteBytes"],
                    entry["fileSizeInBytes"],
                    tuple((entry["cdcStats"] or {}).items()),
                )
        checked += 1
    assert checked > 70


def test_real_commits_name_files_with_their_sizes() -> None:
    """A path of the last commit is relative to the table and has the size that storage says."""
    for label, body in REAL:
        version, name, _ = label.split("/", 2)
        files = real_files.files(version, name)
        for stats in commit_metadata.decode(body, label).stats.values():
            for stat in stats:
                if stat.path in files:
                    assert stat.file_bytes == len(files[stat.path]), label


def test_real_profiles_of_writes_in_flight() -> None:
    """The file of a write in flight names no paths; an empty one (bulk insert, table services) says nothing."""
    sizes = set()
    for label, body in IN_FLIGHT:
        if ".clean." in label:
            continue
        found = commit_metadata.decode(body, label)
        assert all(stat.path is None for stats in found.stats.values() for stat in stats)
        assert (found == CommitMetadata()) is (body == b"")
        sizes.add(body == b"")
    assert sizes == {True, False}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"{}", CommitMetadata()),
        (b'{"operationType": null, "partitionToWriteStats": null, "later": 1}', CommitMetadata()),
        (b'{"operationType": "OF_A_LATER_RELEASE"}', CommitMetadata("OF_A_LATER_RELEASE")),
        (
            b'{"partitionToWriteStats": {"p=\\u00e9": [{"fileId": "f"}]}}',
            CommitMetadata("UNKNOWN", {"p=é": (WriteStat("f", None, None, 0, 0, 0, 0, 0, 0),)}),
        ),
    ],
)
def test_absent_and_unknown_fields(body: bytes, expected: CommitMetadata) -> None:
    """Old releases lack some, later ones have more; an unknown operation is a word like any other."""
    assert commit_metadata.decode(body, "it") == expected


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"garbage",
        b"\xff\xfe",
        b"[]",
        b"1",
        b"null",
        b'"text"',
        b"[" * 100_000,
        b'{"partitionToWriteStats": [1]}',
        b'{"partitionToWriteStats": {"p": 1}}',
        b'{"partitionToWriteStats": {"p": ["x"]}}',
        b'{"partitionToWriteStats": {"p": [null]}}',
        b'{"partitionToReplaceFileIds": {"p": null}}',
    ],
)
def test_json_of_another_shape(body: bytes) -> None:
    with pytest.raises(Unreadable):
        commit_metadata.decode(body, "it")


@pytest.mark.parametrize(
    "stat",
    [{"numWrites": 1.5}, {"numWrites": "1"}, {"totalWriteBytes": [1]}, {"fileId": 1}, {"path": 1}, {"path": ["p"]}],
)
def test_statistics_of_wrong_types_are_unreadable(stat: dict[str, object]) -> None:
    body = json.dumps({"partitionToWriteStats": {"p": [{"fileId": "f", "path": "p/f", **stat}]}}).encode()
    with pytest.raises(Unreadable):
        commit_metadata.decode(body, "it")


LEAVES = st.one_of(st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(), st.text())
TREES = st.recursive(LEAVES, lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)), max_leaves=20)


@pytest.mark.slow
@given(st.dictionaries(st.text(), TREES), st.booleans())
def test_json_reads_as_pythons_own_decoder_reads_it(fields: dict[str, object], escaped: bool) -> None:
    """Also what is none by the standard, as Hudi's reader takes it: NaN."""
    body = json.dumps(fields, ensure_ascii=escaped).encode(errors="surrogatepass")
    assert repr(commit_metadata.read_record(body, "it").fields) == repr(json.loads(body))


def test_without_orjson_commits_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """An executor of Spark needs not have it."""
    monkeypatch.setitem(sys.modules, "orjson", None)
    module = importlib.util.find_spec(commit_metadata.__name__)
    assert module is not None
    assert module.loader is not None
    copy = importlib.util.module_from_spec(module)
    module.loader.exec_module(copy)
    assert copy.decode(b'{"operationType": "UPSERT"}', "it").operation == "UPSERT"
