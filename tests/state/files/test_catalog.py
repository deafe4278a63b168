"""What a catalog lists wrongly once instants are removed. Hudi's own sync is asked in tests/interop."""

from dataclasses import replace

import pytest

from hudictl.formats.commit_metadata import CommitMetadata
from hudictl.formats.file_names import DataFile
from hudictl.formats.instants import Instant, State
from hudictl.state.files.catalog import CatalogGap, catalog_gap
from hudictl.table.table import Table
from tests.table.conftest import Small
from tests.table.conftest import small as small

WRITE = "UPSERT"
DATA = DataFile("g_1-0-1_1.parquet", "g", "1", 0, "1-0-1")


def commit(*written: str, replaced: tuple[str, ...] = (), operation: str = WRITE) -> CommitMetadata:
    return CommitMetadata(operation, dict.fromkeys(written, ()), dict.fromkeys(replaced, ()))


def instant(time: str, completed: bool = True) -> Instant:
    return Instant(time, "commit", State.COMPLETED if completed else State.INFLIGHT, time if completed else None, ())


def completed(*times: str) -> dict[str, Instant | None]:
    return {time: instant(time) for time in reversed(times)}


@pytest.fixture
def table(small: Small) -> Table:
    return small(9, table_partition_fields="p", table_name="trips")


def gap(table: Table, commits: dict[str, CommitMetadata], *needed: str) -> CatalogGap:
    return catalog_gap(table, completed(*commits), commits, {}, needed, {})


def test_a_partition_that_only_removed_instants_wrote_vanishes(table: Table) -> None:
    found = gap(table, {"1": commit("a", "b"), "2": commit("b", "c")}, "a")
    assert (found.vanishing_partitions, found.returning_partitions) == (("b", "c"), ())


def test_a_partition_that_a_removed_instant_dropped_returns(table: Table) -> None:
    dropped = commit(replaced=("a", "b"), operation="DELETE_PARTITION")
    assert gap(table, {"1": dropped}, "a").returning_partitions == ("a",)
    assert gap(table, {"1": dropped}, "a").vanishing_partitions == ()
    # An overwrite replaces files too, but a sync drops no partition for it.
    assert gap(table, {"1": commit("a", replaced=("a",), operation="INSERT_OVERWRITE")}, "a").empty


def test_the_last_removed_instant_says_what_the_catalog_has(table: Table) -> None:
    """A partition that was written and dropped is not in it; one that was dropped and written is."""
    dropped = commit(replaced=("a",), operation="DELETE_PARTITION")
    assert gap(table, {"1": commit("a"), "2": dropped}).empty
    assert gap(table, {"1": dropped, "2": commit("a")}, "a").empty
    assert gap(table, {"1": dropped, "2": commit("a")}).vanishing_partitions == ("a",)


def test_a_write_that_readers_never_saw_is_in_no_catalog(table: Table) -> None:
    pending = {"1": instant("1", completed=False)}
    assert catalog_gap(table, pending, {"1": commit("a")}, {}, (), {}).empty


def test_a_resumed_change_finds_the_same(table: Table) -> None:
    """Its instants are un-published, or gone: their metadata is in the backup."""
    for now in (instant("1", completed=False), None):
        assert catalog_gap(table, {"1": now}, {}, {"1": commit("a")}, (), {}).vanishing_partitions == ("a",)


def test_the_partitions_of_a_write_whose_file_is_empty_are_those_of_its_files(table: Table) -> None:
    commits = {"1": CommitMetadata(), "2": commit("b")}
    written = {"1": ["a", "b", "c", ""], "2": ["d"]}
    found = catalog_gap(table, completed(*commits), commits, {}, ("c",), written)
    assert found.vanishing_partitions == ("a", "b")


def test_a_table_without_partitions_has_none_to_lose(small: Small) -> None:
    found = gap(small(9, table_name="trips"), {"1": commit("")})
    assert found.empty
    assert list(found.statements) == []


def test_the_statements_name_the_table_and_the_partition(small: Small) -> None:
    """One resets the table, so that the next sync compares all partitions; then one for each partition."""
    table = small(9, table_partition_fields="p,q", table_name="trips", database_name="lake")
    reset = "UNSET TBLPROPERTIES IF EXISTS ('last_commit_time_sync', 'last_commit_completion_time_sync')"
    assert list(gap(table, {"1": commit("a/b", "a/c")}, "a/c").statements) == [
        f"ALTER TABLE `lake`.`trips` {reset}",
        "ALTER TABLE `lake`.`trips` DROP IF EXISTS PARTITION (`p`='a', `q`='b')",
    ]


@pytest.mark.parametrize("key", ["table.name", "database.name", "table.partition.fields"])
def test_names_that_no_quotes_hold_are_in_no_statement(table: Table, key: str) -> None:
    found = gap(replace(table, properties={**table.properties, f"hoodie.{key}": "x`; y"}), {"1": commit("a")})
    assert not any("DROP" in statement for statement in found.statements)
    assert found.unnamed_partitions == ("a",)


def test_merge_on_read_has_three_tables_in_a_catalog(small: Small) -> None:
    table = small(9, table_partition_fields="p", table_name="trips", table_type="MERGE_ON_READ")
    found = gap(table, {"1": commit("a")})
    assert found.tables == ("`trips`", "`trips_ro`", "`trips_rt`")
    assert len(list(found.statements)) == 6


@pytest.mark.parametrize(
    ("path", "properties", "spec"),
    [
        ("it's", {}, r"PARTITION (`p`='it\'s')"),
        ("a\\b", {}, r"PARTITION (`p`='a\\b')"),
        ("a%2Fb", {}, "PARTITION (`p`='a%2Fb')"),
        ("a%2Fb", {"partitionpath.urlencode": "true"}, "PARTITION (`p`='a%2Fb')"),
        ("p=3", {"hive_style_partitioning": "true"}, "PARTITION (`p`='3')"),
        ("3", {"hive_style_partitioning": "true"}, None),
        ("p=3", {}, None),
        ("x=3", {}, None),
        ("p=x=3", {"hive_style_partitioning": "true"}, None),
        ("2024/01/02", {}, None),
        ("a'; DROP TABLE t; --", {}, None),
        ("${env:HOME}", {}, None),
        ("a\nb", {}, None),
        ("a\u202eb", {}, None),
        ("a$b`c", {}, "PARTITION (`p`='a$b`c')"),
    ],
)
def test_the_values_of_a_partition(table: Table, path: str, properties: dict[str, str], spec: str | None) -> None:
    """None where the path does not say them."""
    more = {f"hoodie.datasource.write.{key}": value for key, value in properties.items()}
    found = gap(replace(table, properties={**table.properties, **more}), {"1": commit(path)})
    assert found.spec(path) == spec
    assert found.unnamed_partitions == (() if spec else (path,))


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("a%2Fb", ("`p`='a/b'",)),
        ("%25%3D%27", (r"`p`='%=\''",)),
        ("ü%2", ("`p`='ü%2'",)),
        ("a%3B", None),
        ("a%0A", None),
    ],
)
def test_values_that_are_encoded_in_the_path(table: Table, path: str, values: tuple[str, ...] | None) -> None:
    assert gap(table, {"1": commit(path)}).values(path, encoded=True) == values


@pytest.mark.parametrize(
    ("properties", "known"),
    [
        ({}, True),
        ({"type": "COMPLEX"}, True),
        ({"type": "TIMESTAMP"}, False),
        ({"type": "CUSTOM"}, False),
        ({"class": "org.apache.hudi.keygen.SimpleKeyGenerator"}, True),
        ({"class": "org.apache.hudi.keygen.TimestampBasedKeyGenerator"}, False),
        ({"class": "com.example.Own", "type": "SIMPLE"}, False),
    ],
)
def test_the_key_generator_says_whether_the_path_has_the_values(
    table: Table, properties: dict[str, str], known: bool
) -> None:
    more = {f"hoodie.table.keygenerator.{key}": value for key, value in properties.items()}
    found = gap(replace(table, properties={**table.properties, **more}), {"1": commit("a")})
    assert (found.spec("a") is not None) is known
    assert found.vanishing_partitions == ("a",)
