"""The metadata of every completed write of every sample, made again from its data files, beside what Hudi wrote."""

from pathlib import Path

import pytest

from hudictl.errors import Refused
from hudictl.formats import commit_metadata
from hudictl.formats.commit_metadata import WriteStat
from tests import support
from tests.fixtures import Unpack
from tests.helpers import Copy, drop
from tests.ops.repair.quarantine_support import again, completed, damage, plan, schema

CLEANED = ("cow_cleaned", "archived", "cow_clustering_cleaned", "mor_compaction_cleaned", "mor_compaction_superseded")
"""Tables of which a clean has deleted files, or whose first commits are archived: what is gone is not named again."""
UNNAMED = ("cow_cleaned", "cow_clustering_cleaned", "hfile_mor", "lance_cow", "lance_mor")
"""Tables of which no file names a schema: not in these formats, or a clean has deleted it. Between two writes with the
same one it is that."""
RESIZING = "resizing"
"""A table whose writers write into the buckets of a pending resize, too."""


def stats(body: bytes) -> dict[str | None, WriteStat]:
    return {stat.path: stat for of in commit_metadata.decode(body, "it").stats.values() for stat in of}


@support.ONE_OF_EACH_KIND
@pytest.mark.slow
@pytest.mark.parametrize(("version", "name"), support.every_table())
def test_it_says_what_hudi_wrote(version: str, name: str, tmp_path: Path) -> None:
    copy = Copy(version, name, support.unpack(version, name, tmp_path))
    for time in copy.commits:
        if commit_metadata.decode(completed(copy, time).read_bytes(), "it").operation == "INSERT_OVERWRITE":
            with pytest.raises(Refused, match="nothing proves what it said"):
                again(copy, time)
            continue
        why = ""
        try:
            before, made = again(copy, time)
        except Refused as refused:
            why = refused.message
        if why:
            assert why.endswith("no file of it names its schema")
            assert name in UNNAMED
            assert time in (copy.commits[0], copy.commits[-1])
            continue
        old, new = commit_metadata.decode(before, "old"), commit_metadata.decode(made, "new")
        assert (new.operation, schema(made)) == (old.operation, schema(before))
        assert {path: {*ids} for path, ids in new.replaced.items()} == {p: {*ids} for p, ids in old.replaced.items()}
        assert commit_metadata.read_record(made, "new").name == commit_metadata.read_record(before, "old").name
        was, now = stats(before), stats(made)
        there = {str(path) for path in was if path and (copy.path / path).exists()}
        assert now.keys() == there
        for path in there:
            assert now[path].file_id == was[path].file_id
            assert now[path].file_bytes == was[path].file_bytes
            assert now[path].change_logs == was[path].change_logs
            assert now[path].previous == was[path].previous or name.startswith((*CLEANED, RESIZING))
            assert now[path].records == was[path].records or path.endswith((".orc", ".hfile", ".lance"))
            assert now[path].deletes == was[path].deletes or ".log." not in path


VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)


@VERSIONS
def test_a_second_base_file_of_a_slice_is_refused(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_flat_nomdt")
    last = copy.commits[-1]
    (base, *_) = sorted(copy.path.glob(f"*_{last}.parquet"))
    group, _, rest = base.name.rsplit("_", 2)
    base.with_name(f"{group}_9-9-999_{rest}").write_bytes(base.read_bytes())
    with pytest.raises(Refused, match="are of one slice"):
        again(copy, last)


@VERSIONS
def test_the_metadata_table_must_list_the_same_files(unpack: Unpack, version: str) -> None:
    """One file less on storage, or one more."""
    copy = unpack(version, "cow_part")
    last = copy.commits[-1]
    base = sorted(copy.path.glob(f"part-*/*_{last}.parquet"))[0]
    more = base.with_name(f"ffffffff{base.name[8:]}")
    more.write_bytes(base.read_bytes())
    with pytest.raises(Refused, match="the metadata table does not list"):
        again(copy, last)
    drop(more)
    drop(base)
    with pytest.raises(Refused, match="but it is not on storage"):
        again(copy, last)


@VERSIONS
def test_without_a_metadata_table_it_is_said(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_flat_nomdt")
    damage(completed(copy, copy.commits[-1]), b"")
    assert any("no metadata table" in line for line in plan(copy, copy.commits[-1]).guessed)


@VERSIONS
def test_the_only_commit_has_no_like(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_flat_nomdt")
    for time in copy.commits:
        damage(completed(copy, time), b"")
    with pytest.raises(Refused, match="nothing shows the format"):
        plan(copy, copy.commits[-1])


@VERSIONS
def test_a_lost_checkpoint_is_told(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    *_, before, last = copy.commits
    file = completed(copy, before)
    fields = commit_metadata.read_record(file.read_bytes(), "it").fields
    fields["extraMetadata"] = {**fields["extraMetadata"], "deltastreamer.checkpoint.key": "kafka,0:7"}
    damage(file, commit_metadata.encode_as(file.read_bytes(), fields))
    damage(completed(copy, last), b"")
    assert plan(copy, last).lost == (f"its checkpoint: the next run of Hudi Streamer goes on from that of {before}",)
