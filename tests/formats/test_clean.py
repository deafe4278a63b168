"""Cleaner plans and clean metadata."""

import pytest

from hudictl.errors import Unreadable
from hudictl.formats import avro, clean
from tests.formats import generic, real_files

PLANS = [*real_files.matching(real_files.ending(".clean.requested"))]
METADATA = [*real_files.matching(real_files.ending(".clean"))]


@pytest.mark.parametrize("body", [body for _, body in PLANS], ids=[label for label, _ in PLANS])
def test_real_plans(body: bytes) -> None:
    """Which files a pending clean will delete: by name, as they lie in the partition."""
    plan, record = clean.decode_plan(body, "it"), generic.read(body)
    assert plan.earliest == record["earliestInstantToRetain"]["timestamp"]
    paths = [info["filePath"] for infos in record["filePathsToBeDeletedPerPartition"].values() for info in infos]
    found = {f"/{path}/{name}" for path, names in plan.files.items() for name in names}
    assert len(found) == len(paths) == 3
    assert all(any(path.endswith(end) for end in found) for path in paths)
    assert plan.partitions == frozenset()


@pytest.mark.parametrize(("label", "body"), METADATA, ids=[label for label, _ in METADATA])
def test_real_metadata(label: str, body: bytes) -> None:
    """What a clean deleted is gone from the table, and is what its plan said."""
    done = clean.decode_metadata(body, label)
    version, name, path = label.split("/", 2)
    files = real_files.files(version, name)
    deleted = {f"{partition}/{file}" for partition, names in done.deleted.items() for file in names}
    assert len(deleted) == 3
    assert deleted.isdisjoint(files)
    stem = path.removesuffix(".clean").rpartition("/")[2].partition("_")[0]
    (requested,) = [body for other, body in PLANS if other.startswith(f"{version}/{name}/") and stem in other]
    plan = clean.decode_plan(requested, label)
    assert (done.earliest, done.deleted) == (plan.earliest, plan.files)


def test_plan_of_version_1_names_files_alone() -> None:
    """Old plans have names in another field; both fields count, and partitions to delete whole."""
    schema = {
        "type": "record",
        "name": clean.PLAN,
        "fields": [
            {"name": "earliestInstantToRetain", "type": ["null", "string"]},
            {
                "name": "filesToBeDeletedPerPartition",
                "type": ["null", {"type": "map", "values": {"type": "array", "items": "string"}}],
            },
            {"name": "partitionsToBeDeleted", "type": ["null", {"type": "array", "items": "string"}]},
            {"name": "policy", "type": "string"},
        ],
    }
    value = {
        "earliestInstantToRetain": None,
        "filesToBeDeletedPerPartition": {"p": ["a.parquet", "file:/t/p/b.parquet"], "": ["c"]},
        "partitionsToBeDeleted": ["q"],
        "policy": "KEEP_LATEST_COMMITS",
    }
    plan = clean.decode_plan(avro.encode(value, schema), "it")
    assert plan.earliest is None
    assert plan.files == {"p": {"a.parquet", "b.parquet"}, "": {"c"}}
    assert plan.partitions == {"q"}


@pytest.mark.parametrize("more", [{"policy": "KEEP_LATEST_COMMITS", "version": 3}, {"version": 2}])
def test_a_plan_of_another_kind_is_unreadable(more: dict[str, object]) -> None:
    """A newer version may name its files in a new field."""
    plan = avro.Record(clean.PLAN, {"filesToBeDeletedPerPartition": {"p": ["a.parquet"]}, "later": ["b"], **more})
    with pytest.raises(Unreadable, match="not a clean plan of version 1 or 2"):
        clean.decode_plan(plan, "it")


def test_a_clean_that_names_whole_paths_has_deleted_their_files() -> None:
    partitions = {"p": {"successDeleteFiles": ["s3a://bucket/t/p/a.parquet", "b.parquet"]}}
    done = avro.Record(clean.METADATA, {"earliestCommitToRetain": "", "partitionMetadata": partitions})
    assert clean.decode_metadata(done, "it").deleted == {"p": {"a.parquet", "b.parquet"}}
