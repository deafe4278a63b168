"""Tables whose log files hold each kind of block, made by the real Hudi with ``SAMPLES[name].make(hudi, base)``."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tests.interop.judge import Judge
from tests.support import VERSIONS

PREFIX = "hoodie.datasource.write."


def logical(avro: str, name: str, **more: Any) -> dict[str, Any]:
    """A logical type of Avro."""
    return {"type": avro, "logicalType": name, **more}


# Fields, each with its type and the values of two records in Avro's JSON encoding.
INNER = {"type": "record", "name": "inner", "fields": [
    {"name": "x", "type": "int"}, {"name": "y", "type": ["null", "double"], "default": None}]}  # fmt: skip
PAIR = {"type": "record", "name": "pair", "fields": [
    {"name": "left", "type": "string"}, {"name": "right", "type": ["null", "string"], "default": None}]}  # fmt: skip
FIXED = {"type": "fixed", "size": 8, "name": "eight"}
ALL_TYPES = {
    "yes": ("boolean", True, False),
    "small": ("int", -1, 2**31 - 1),
    "big": ("long", -(2**40), 2**63 - 1),
    "real": ("float", 1.5, -0.25),
    "wide": ("double", 0.1, 1e300),
    "raw": ("bytes", "\u0000\u00ff\u0080", ""),
    "word": ("string", "Größe 東京", "line\n\u0001"),
    "letter": ({"type": "enum", "name": "letters", "symbols": ["A", "B"]}, "B", "A"),
    "decimal_bytes": (logical("bytes", "decimal", precision=10, scale=2), "\u0004\u00d2", "\u00fb\u002e"),
    "decimal_fixed": (
        FIXED | {"logicalType": "decimal", "precision": 18, "scale": 4},
        "\u0000" * 7 + "z",
        "\u00ff" * 8,
    ),
    "day": (logical("int", "date"), 19_000, -1),
    "timestamp_millis": (logical("long", "timestamp-millis"), 1_700_000_000_123, -1),
    "timestamp_micros": (logical("long", "timestamp-micros"), 1_700_000_000_123_456, -1),
    "local_millis": (logical("long", "local-timestamp-millis"), 1_700_000_000_123, 0),
    "local_micros": (logical("long", "local-timestamp-micros"), 1_700_000_000_123_456, 0),
    "uuid": (logical("string", "uuid"), "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "00000000-0000-0000-0000-000000000000"),
    "either": (["null", "string"], None, {"string": "text"}),
    "nested": (["null", INNER], {"hoodie.logs.inner": {"x": 1, "y": {"double": 0.5}}}, None),
    "list": ({"type": "array", "items": ["null", "long"]}, [{"long": 1}, None], []),
    "table": ({"type": "map", "values": {"type": "array", "items": PAIR}}, {"a": [{"left": "l", "right": None}]}, {}),
}
NOT_FOR_SPARK = {
    "four": ({"type": "fixed", "size": 4, "name": "four_bytes"}, "abcd", "\u0000\u00ff\u00fe\u0001"),
    "time_millis": (logical("int", "time-millis"), 3_723_004, 0),
    "time_micros": (logical("long", "time-micros"), 3_723_004_005, 0),
}
UNION = {"several": (["null", "string", "long"], {"string": "text"}, {"long": 5})}


NO_METADATA = {"hoodie.metadata.enable": "false"}
PLAIN = {
    "hoodie.table.name": "logs",
    f"{PREFIX}table.type": "MERGE_ON_READ",
    f"{PREFIX}recordkey.field": "id",
    f"{PREFIX}precombine.field": "ts",
    f"{PREFIX}partitionpath.field": "",
    f"{PREFIX}keygenerator.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
    **NO_METADATA,
    "hoodie.compact.inline": "false",
    "hoodie.clean.automatic": "false",
    "hoodie.embed.timeline.server": "false",
    "hoodie.table.timeline.timezone": "UTC",
    "hoodie.insert.shuffle.parallelism": "1",
    "hoodie.upsert.shuffle.parallelism": "1",
    "hoodie.delete.shuffle.parallelism": "1",
    "hoodie.index.bloom.num_entries": "100",
}
# With a bucket index there are no record positions.
BUCKET = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "1"}
DEFAULT_PAYLOAD = "org.apache.hudi.common.model.DefaultHoodieRecordPayload"
LATEST_PAYLOAD = "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload"
CUSTOM_PAYLOAD = "org.apache.hudi.common.model.HoodieAvroPayload"
MERGE_LOGS = {
    "hoodie.log.compaction.inline": "true",
    "hoodie.log.compaction.blocks.threshold": "2",
    "hoodie.optimized.log.blocks.scan.enable": "true",
}
BLOCK_FORMAT = "hoodie.logfile.data.block.format"
PLAIN_HFILES = {"hoodie.hfile.compression.algorithm": "none"}


@dataclass(frozen=True)
class Sample:
    """A table: how it is made, in words and in fact, and by which releases it can be made."""

    how: str
    make: Callable[[Judge, Path], None]
    versions: tuple[str, ...] = VERSIONS


@dataclass(frozen=True)
class Writer:
    """Writes a table, with the same options each time."""

    hudi: Judge
    base: Path | str
    options: Mapping[str, str]

    def write(self, query: str, operation: str = "upsert", **more: str) -> None:
        """One commit; the first makes the table."""
        options = PLAIN | dict(self.options) | more
        mode = "append" if Path(str(self.base).removeprefix("dfs://")).exists() else "overwrite"
        self.hudi.write_query(self.base, query, operation, options, mode)


def rows(*values: str, columns: str = "id, ts, val") -> str:
    """A query for rows, each of which is written as SQL has it."""
    return f"SELECT * FROM VALUES {', '.join(f'({value})' for value in values)} AS t({columns})"


def numbered(ids: range, ts: int) -> str:
    """A query for rows with these ids, which are numbers and keys at once."""
    return f"SELECT id, {ts}L ts, concat('v{ts}-', id) val FROM range({ids.start}, {ids.stop}, {ids.step})"


def last_instant(hudi: Judge, base: Path) -> str:
    """The requested time of the newest instant."""
    return str(max(entry[0] for entry in hudi.timeline(base)))


def event_time(version: str) -> dict[str, str]:
    """The settings of a table in which the greater ordering value wins."""
    if version == "v6":
        return {f"{PREFIX}payload.class": DEFAULT_PAYLOAD}
    return {"hoodie.write.record.merge.mode": "EVENT_TIME_ORDERING"}


def commit_time(version: str) -> dict[str, str]:
    """The settings of a table in which the later commit wins."""
    if version == "v6":
        return {f"{PREFIX}payload.class": LATEST_PAYLOAD}
    return {"hoodie.write.record.merge.mode": "COMMIT_TIME_ORDERING"}


def payload(name: str, hudi: Judge, base: Path) -> None:
    mode = {} if hudi.version != "v8" else {"hoodie.write.record.merge.mode": "CUSTOM"}
    table = Writer(hudi, base, {f"{PREFIX}payload.class": f"org.apache.hudi.common.model.{name}"} | mode)
    columns = "id, ts, val, other, Op"
    table.write(rows(*(f"'k{one}', 1L, 'first', 'x', 'I'" for one in range(6)), columns=columns), "insert")
    changed = ("'k0', 2L, 'later', NULL, 'U'", "'k1', 0L, NULL, 'y', 'U'", "'k2', 2L, NULL, NULL, 'D'")
    table.write(rows(*changed, columns=columns))


def virtual_keys(hudi: Judge, base: Path) -> None:
    table = Writer(hudi, base, {"hoodie.populate.meta.fields": "false", "hoodie.index.type": "SIMPLE"})
    table.write(numbered(range(8), 1), "insert")
    table.write(numbered(range(0, 8, 3), 2))
    table.write(numbered(range(2, 4), 3), "delete")


def positions(hudi: Judge, base: Path) -> None:
    table = Writer(hudi, base, {"hoodie.write.record.positions": "true"})
    table.write(numbered(range(20), 1), "insert")
    table.write(numbered(range(3, 20, 4), 2))
    table.write(numbered(range(5, 9), 3), "delete")


def data_blocks(settings: Mapping[str, str], hudi: Judge, base: Path) -> None:
    table = Writer(hudi, base, settings)
    table.write(numbered(range(10), 1), "insert")
    table.write(numbered(range(0, 10, 2), 2))
    table.write(numbered(range(6, 12), 3))


def several_blocks(hudi: Judge, base: Path) -> None:
    table = Writer(hudi, base, BUCKET | {"hoodie.logfile.data.block.max.size": "300"})
    table.write(numbered(range(10), 1))
    table.write(f"SELECT *, id % 3 = 0 AS _hoodie_is_deleted FROM ({numbered(range(10), 2)})")


def cdc(mode: str, hudi: Judge, base: Path) -> None:
    changes = {"hoodie.table.cdc.enabled": "true", "hoodie.table.cdc.supplemental.logging.mode": mode}
    table = Writer(hudi, base, changes | {f"{PREFIX}table.type": "COPY_ON_WRITE"})
    table.write(numbered(range(6), 1), "insert")
    table.write(numbered(range(3, 8), 2))
    table.write(numbered(range(5, 7), 3), "delete")


def deletes(values: tuple[str, str, str], hudi: Judge, base: Path) -> None:
    low, middle, high = values
    table = Writer(hudi, base, BUCKET | event_time(hudi.version))
    columns = "id, ts, _hoodie_is_deleted"
    table.write(rows(*(f"'k{one}', {middle}, false" for one in range(6)), columns=columns))
    gone = (f"'k0', {low}, true", f"'k1', {middle}, true", f"'k2', {high}, true", f"'k3', {high}, true")
    table.write(rows(*gone, columns=columns))
    table.write(rows(f"'k2', {middle}, false", f"'k3', {high}, false", f"'k4', {low}, false", columns=columns))


def ordering(settings: Callable[[str], dict[str, str]], hudi: Judge, base: Path) -> None:
    table = Writer(hudi, base, settings(hudi.version))
    columns = "id, ts, val, _hoodie_is_deleted"
    table.write(rows(*(f"'k{one}', 50L, 'first', false" for one in range(8)), columns=columns), "insert")
    later = ("'k0', 60L, 'later', false", "'k1', 40L, 'earlier', false", "'k2', 50L, 'tie', false")
    table.write(rows(*later, "'k3', 60L, 'gone', true", "'k4', 40L, 'not gone', true", columns=columns))
    again = ("'k0', 55L, 'between', false", "'k3', 55L, 'before its delete', false", "'k1', 45L, 'not enough', false")
    table.write(rows(*again, "'k5', 50L, 'gone by a tie', true", columns=columns))


def plain_deletes(settings: Callable[[str], dict[str, str]], hudi: Judge, base: Path) -> None:
    table = Writer(hudi, base, settings(hudi.version))
    table.write(numbered(range(8), 5), "insert")
    table.write(numbered(range(2, 5), 5), "delete")
    table.write(numbered(range(4, 6), 1))


def logs_only(hudi: Judge, base: Path) -> None:
    # This index knows all keys that its process has written, whatever the table: no other may have these.
    table = Writer(hudi, base, {"hoodie.index.type": "INMEMORY"})
    for ts, ids in ((1, range(6)), (2, range(4, 8))):
        table.write(f"SELECT concat('in-memory-', id) id, ts, val FROM ({numbered(ids, ts)})")


def several_orderings(days: Sequence[str], hudi: Judge, base: Path) -> None:
    fields = {f"{PREFIX}precombine.field": "ts,day,name", "hoodie.table.ordering.fields": "ts,day,name"}
    table = Writer(hudi, base, BUCKET | event_time(hudi.version) | fields)
    columns = "id, ts, day, name, _hoodie_is_deleted"
    table.write(rows(*(f"'k{one}', 5L, {days[1]}, 'b', false" for one in range(5)), columns=columns))
    gone = (f"'k0', 5L, {days[1]}, 'a', true", f"'k1', 5L, {days[2]}, 'a', true", f"'k2', 4L, {days[2]}, 'z', true")
    table.write(rows(*gone, columns=columns))
    table.write(rows(f"'k1', 5L, {days[1]}, 'z', false", f"'k3', 5L, {days[0]}, 'z', false", columns=columns))


def evolution(hudi: Judge, base: Path) -> None:
    table = Writer(hudi, base, BUCKET)
    columns = "id, ts, number"
    table.write(rows("'k0', 1L, 1", "'k1', 1L, NULL", columns=columns))
    table.write(rows("'k1', 2L, 3000000000L", "'k2', 2L, NULL", columns=columns))
    table.write(rows("'k2', 3L, 2.5D, 'added'", "'k3', 3L, NULL, NULL", columns=f"{columns}, more"))
    deep = f"{columns}, more, deep"
    table.write(rows("'k3', 4L, 'text', 'added', named_struct('a', 1)", "'k4', 4L, NULL, NULL, NULL", columns=deep))
    nested = "named_struct('a', 2, 'b', nullif('x', ''))"
    table.write(rows(f"'k0', 5L, 'text', 'again', {nested}", "'k4', 5L, NULL, NULL, NULL", columns=deep))


def failed(hudi: Judge, base: Path) -> None:
    table = Writer(hudi, base, {})
    table.write(numbered(range(10), 1), "insert")
    table.write(numbered(range(0, 10, 2), 2))
    with hudi.dying(base, r"close \.hoodie/.*deltacommit$|(create|rename) \.hoodie/(timeline/)?[0-9_]+\.deltacommit$"):
        table.write(numbered(range(0, 10, 3), 3))


def log_compacted(hudi: Judge, base: Path) -> None:
    table = Writer(hudi, base, {})
    table.write(numbered(range(10), 1), "insert")
    for ts in range(2, 5):
        table.write(numbered(range(0, 10, ts), ts))
    table.write(numbered(range(0, 10, 5), 5), **MERGE_LOGS)
    table.write(numbered(range(1, 10, 5), 6), **MERGE_LOGS)


def log_compacted_deletes(hudi: Judge, base: Path) -> None:
    table = Writer(hudi, base, commit_time(hudi.version))
    table.write(numbered(range(10), 1), "insert")
    table.write(numbered(range(0, 10, 2), 2))
    table.write(numbered(range(3, 7), 3), "delete")
    table.write(numbered(range(6, 8), 4), **MERGE_LOGS)


def partial_updates(hudi: Judge, base: Path) -> None:
    table = Writer(hudi, base, {})
    table.write("SELECT id, 1L ts, concat('v', id) val, 10D price, 'x' other FROM range(6)", "insert")
    source = "SELECT 2L id, 2L ts, 99D price UNION ALL SELECT 4L id, 0L ts, 77D price"
    target = "WHEN MATCHED THEN UPDATE SET price = s.price, ts = s.ts"
    options = {"hoodie.spark.sql.merge.into.partial.updates": "true", "hoodie.metadata.enable": "false"}
    hudi.sql(base, [f"MERGE INTO judged t USING ({source}) s ON t.id = s.id {target}"], options)
    hudi.sql(
        base,
        [
            "MERGE INTO judged t USING (SELECT 3L id, 3L ts, 'y' other) s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET other = s.other, ts = s.ts"
        ],
        options,
    )


def rolled_back(hudi: Judge, base: Path) -> None:
    table = Writer(hudi, base, {"hoodie.write.table.version": "6", "hoodie.write.auto.upgrade": "false"})
    table.write(numbered(range(10), 1), "insert")
    table.write(numbered(range(0, 10, 2), 2))
    table.write(numbered(range(0, 10, 3), 3))
    hudi.rollback(base, last_instant(hudi, base), table.options | NO_METADATA)
    table.write(numbered(range(0, 10, 4), 4))


def appended(hudi: Judge, base: Path) -> None:
    hudi.call("appending")
    table = Writer(hudi, f"dfs://{base}", {})
    table.write(numbered(range(10), 1), "insert")
    table.write(numbered(range(0, 10, 2), 2))
    table.write(f"SELECT *, id % 2 = 0 AS _hoodie_is_deleted FROM ({numbered(range(0, 10, 3), 3)})")
    hudi.call("rollback", path=table.base, instant=last_instant(hudi, base), options=NO_METADATA)
    table.write(numbered(range(0, 10, 4), 4))


def archived(hudi: Judge, base: Path) -> None:
    few = {
        "hoodie.keep.min.commits": "2",
        "hoodie.keep.max.commits": "3",
        "hoodie.clean.automatic": "true",
        "hoodie.cleaner.commits.retained": "1",
        "hoodie.commits.archival.batch": "2",
    }
    table = Writer(hudi, base, few)
    for ts in range(1, 9):
        table.write(numbered(range(0, 6, ts), ts))


def types(fields: Mapping[str, Any], hudi: Judge, base: Path) -> None:
    Writer(hudi, base, BUCKET).write("SELECT 'k' id, 1L ts WHERE 1 > 1")  # the table, without a row
    values = {"id": "k", "ts": 1} | {name: values[0] for name, (_, *values) in fields.items()}
    other = {name: values[-1] for name, (_, *values) in fields.items()}
    kinds = {"id": "string", "ts": "long"} | {name: kind for name, (kind, *_) in fields.items()}
    columns = [{"name": name, "type": kind} for name, kind in kinds.items()]
    schema = json.dumps({"type": "record", "name": "logs_record", "namespace": "hoodie.logs", "fields": columns})
    options = PLAIN | BUCKET | {"hoodie.auto.commit": "false"}
    # Null in a list does not go into the base file, which has Parquet's old form of lists.
    hudi.write_avro(base, schema, [values | other | {"id": "k0"}, values | other | {"id": "k1"}], options)
    changed = [values | {"id": "k1", "ts": 2}, values | other | {"id": "k2", "ts": 2}]
    hudi.write_avro(base, schema, changed, options)


def custom(hudi: Judge, base: Path) -> None:
    table = Writer(
        hudi,
        base,
        {f"{PREFIX}payload.class": CUSTOM_PAYLOAD}
        | ({} if hudi.version == "v6" else {"hoodie.write.record.merge.mode": "CUSTOM"}),
    )
    table.write(numbered(range(6), 1), "insert")
    table.write(numbered(range(0, 6, 2), 2))


ORDERED = {
    "int": ("1", "2", "3"),
    "long": ("1L", "2L", "3000000000L"),
    "string": ("'a'", "'b'", "'c'"),
    "timestamp": tuple(f"timestamp'2024-01-0{day} 01:02:03.456789'" for day in (1, 2, 3)),
    "decimal": ("1.50BD", "2.25BD", "30.75BD"),
    "date": ("date'2024-01-01'", "date'2024-01-02'", "date'2024-01-03'"),
    "bytes": ("X'01'", "X'02'", "X'0300ff'"),
    "float": ("1.5F", "2.5F", "3.5F"),
    "double": ("1.5D", "2.5D", "3.5D"),
    "boolean": ("false", "false", "true"),
}

SAMPLES = {
    "ordering_event": Sample("event time ordering, values out of order", partial(ordering, event_time)),
    "ordering_commit": Sample("commit time ordering, values out of order", partial(ordering, commit_time)),
    "several_orderings": Sample(
        "event time ordering by a long, an int, a string", partial(several_orderings, ("10", "11", "12")), ("v9",)
    ),
    "several_orderings_date": Sample(
        "event time ordering by a long, a date, a string", partial(several_orderings, ORDERED["date"]), ("v9",)
    ),
    "evolution": Sample("a column added, a type promoted from commit to commit", evolution),
    "failed": Sample("the last delta commit died before it completed", failed),
    "log_compacted": Sample("two log compactions", log_compacted),
    "log_compacted_deletes": Sample("a log compaction of updates and deletes", log_compacted_deletes),
    # 0.15.0 reads such a table with more rows than it has, 1.0.2 not at all.
    "virtual_keys": Sample("records without Hudi's own columns", virtual_keys, ("v9",)),
    "payload_overwrite_non_defaults": Sample(
        "columns that are null keep their older value", partial(payload, "OverwriteNonDefaultsWithLatestAvroPayload")
    ),
    "payload_aws_dms": Sample("a column that says what is a delete", partial(payload, "AWSDmsAvroPayload")),
    "partial": Sample("MERGE INTO of some columns", partial_updates, ("v8", "v9")),
    "rolled_back": Sample("table version 6: a delta commit rolled back by a rollback block", rolled_back),
    "appended": Sample("on a scheme that 0.15 appends on: several instants in a file", appended, ("v6",)),
    "archived": Sample("a timeline archived into logs", archived, ("v6",)),
    "types": Sample("all types of Avro, logical ones and nested ones", partial(types, ALL_TYPES)),
    "types_not_for_spark": Sample("types that Spark does not read", partial(types, NOT_FOR_SPARK)),
    "types_union": Sample("a union of several types", partial(types, UNION)),
    "logs_only": Sample("an index that finds records in logs: no base file", logs_only),
    "custom": Sample("a payload class of its own", custom),
    "positions": Sample("20 rows in a base file, 5 updated, 4 deleted, with record positions", positions, ("v8", "v9")),
    "parquet_blocks": Sample("logs of Parquet blocks", partial(data_blocks, {BLOCK_FORMAT: "parquet"})),
    "hfile_blocks": Sample("logs of HFile blocks", partial(data_blocks, {BLOCK_FORMAT: "hfile"})),
    "hfile_blocks_plain": Sample(
        "the same without compression", partial(data_blocks, {BLOCK_FORMAT: "hfile"} | PLAIN_HFILES)
    ),
    "several_blocks": Sample("blocks of at most 300 bytes: several in a file", several_blocks),
    "plain_deletes": Sample("deletes without ordering values, commit time", partial(plain_deletes, commit_time)),
    "plain_deletes_event": Sample("deletes without ordering values, event time", partial(plain_deletes, event_time)),
    **{
        f"cdc_{mode}": Sample(f"copy on write with change data capture, {mode}", partial(cdc, mode))
        for mode in ("op_key_only", "data_before", "data_before_after")
    },
    **{
        f"deletes_{kind}": Sample(
            f"event time ordering by a {kind}; deletes with it",
            partial(deletes, values),
            ("v6",) if kind == "date" else VERSIONS,  # 1.0.2 and 1.2.0 fail to write such a delete
        )
        for kind, values in ORDERED.items()
    },
}
