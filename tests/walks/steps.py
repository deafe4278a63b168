"""What the real Hudi, and the world, do to the table of a walk. Each takes the table and a source of chance, and
returns False where there is nothing to do it to."""

import shutil
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from random import Random
from typing import Any

from tests import support
from tests.interop.judge import JudgeError
from tests.interop.killed import COMPLETED, METADATA_COMPLETED, Death
from tests.interop.make_indexes import ALONE
from tests.interop.make_overlaps import ONE_VERSION
from tests.interop.scenarios import MERGE_LOGS, NO_METADATA
from tests.walks.kept import listed
from tests.walks.rows import Write, folder, later
from tests.walks.shape import LAZY, NO_STATISTICS, STATISTICS
from tests.walks.table import DEATH, Table

Step = Callable[[Table, Random], bool]

WITHOUT = {
    **NO_METADATA,
    **NO_STATISTICS,
    "hoodie.metadata.index.bloom.filter.enable": "false",
    "hoodie.metadata.record.index.enable": "false",
    "hoodie.metadata.global.record.level.index.enable": "false",
    "hoodie.index.type": "SIMPLE",
}
DROPPED: Mapping[str, Mapping[str, str]] = {
    "BLOOM_FILTERS": {"hoodie.metadata.index.bloom.filter.enable": "false"},
    "COLUMN_STATS": NO_STATISTICS,
    "RECORD_INDEX": {
        "hoodie.metadata.record.index.enable": "false",
        "hoodie.metadata.global.record.level.index.enable": "false",
        "hoodie.index.type": "SIMPLE",
    },
}
ALLOWED = {
    "hoodie.clustering.updates.strategy": "org.apache.hudi.client.clustering.update.strategy.SparkAllowUpdateStrategy"
}
COMPACT = {"hoodie.compact.inline.max.delta.commits": "1"}
DATA = r"(?!\.hoodie)\S*(\.parquet|\.log\.)"
DEATHS = (
    Death((r"\.hoodie/\.temp",)),
    Death((f"create {DATA}",)),
    Death((f"create {DATA}",), 2),
    Death((f"create {DATA}",), 2, after=True),
    Death((METADATA_COMPLETED,)),
    Death((COMPLETED,)),
)
UNDO_DEATHS = (
    Death((r"\.(rollback|restore)\.inflight$",), after=True),
    Death((f"delete {DATA}",)),
    Death((f"delete {DATA}",), 2, after=True),
    Death((METADATA_COMPLETED,)),
    Death((r"\.(rollback|restore)$",)),
)


def create(table: Table, chance: Random) -> bool:
    """The table's first write."""
    rows = table.batch(chance, chance.choice((6, 20)), known=False)
    operation = "upsert" if table.shape.index == "hashing" else chance.choice(("insert", "bulk_insert", "upsert"))
    if table.shape.index in ("bucket", "record") and operation == "bulk_insert":
        operation = "insert"
    _write(table, {"rows": rows}, lambda options: table.hudi.create(table.base, rows, options, operation))
    return True


def insert(table: Table, chance: Random) -> bool:
    """New keys."""
    rows = table.batch(chance, chance.choice((1, 5, 12)), known=False)
    operation = "upsert" if table.shape.index == "hashing" else "insert"
    _upsert(table, {"rows": rows}, rows, operation)
    return True


def upsert(table: Table, chance: Random) -> bool:
    """New values of some keys, and some new keys."""
    rows = table.batch(chance, chance.choice((1, 4, 15)), known=True)
    rows += table.batch(chance, chance.choice((0, 0, 3)), known=False)
    _upsert(table, {"rows": rows}, rows, "upsert")
    return bool(rows)


def delete(table: Table, chance: Random) -> bool:
    """Some keys are deleted."""
    keys = sorted(table.rows)
    gone = chance.sample(keys, min(len(keys) // 2, 4))
    if gone:
        table.ts += 10
        _write(table, {"deleted": gone}, lambda options: table.hudi.delete(table.base, gone, options))
    return bool(gone)


def insert_overwrite(table: Table, chance: Random) -> bool:
    """The rows of one partition are replaced by new ones."""
    if table.shape.index == "hashing":
        return False
    rows = table.batch(chance, 12, known=False)
    chosen = folder(chance.choice(rows))
    rows = [row for row in rows if folder(row) == chosen]
    emptied = None if table.shape.partitions == "none" else {chosen}
    _upsert(table, {"rows": rows, "emptied": emptied}, rows, "insert_overwrite")
    return True


def delete_partition(table: Table, chance: Random) -> bool:
    """A whole partition is dropped."""
    found = sorted({folder(row) for row in table.rows.values()})
    if table.shape.partitions == "none" or len(found) < 2 or table.shape.index == "hashing":
        return False
    gone = chance.choice(found)
    _write(table, {"emptied": {gone}}, lambda options: table.hudi.delete_partitions(table.base, [gone], options))
    return True


def two_writers(table: Table, chance: Random) -> bool:
    """A second writer begins later, works on another partition, and is completed first."""
    rows = table.batch(chance, 12, known=chance.random() < 0.5)
    chosen = {folder(row) for row in rows[:1]}
    slow = [row for row in rows if folder(row) in chosen]
    quick = [row for row in rows if folder(row) not in chosen]
    if not slow or not quick or table.shape.partitions == "none" or table.shape.index in ("hashing", "record"):
        return False
    before = {entry.time for entry in table.timeline}
    table.hudi.call("beside", path=table.base, rows=slow, other=quick, options={**table.shape.options, **LAZY})
    new = [entry for entry in table.active if entry.time not in before]
    by_time = dict(zip(sorted(entry.time for entry in new), (slow, quick), strict=True))
    table.writes += [Write(entry.time, by_time[entry.time]) for entry in new]
    return True


def compaction(table: Table, chance: Random) -> bool:
    """Scheduled, executed, or both; a log compaction with a write, on merge on read alone."""
    if table.shape.kind == "cow":
        return False
    what = chance.choice(("schedule", "run", "scheduleAndExecute", "logs"))
    if what == "logs":
        rows = table.batch(chance, 5, known=True)
        _upsert(table, {"rows": rows}, rows, "upsert", MERGE_LOGS)
    else:
        table.hudi.compact(table.base, what, {**table.shape.options, **COMPACT})
    return True


def clustering(table: Table, chance: Random) -> bool:
    """Scheduled, executed, or both: the resizing where the table hashes consistently."""
    if table.shape.index == "bucket":
        return False
    what = chance.choice(("schedule", "execute", "scheduleAndExecute"))
    table.hudi.cluster(table.base, what, table.shape.options)
    return True


def late_clustering(table: Table, chance: Random) -> bool:
    """One is planned, its file groups are overwritten or updated, and then it runs: Hudi undoes what was done."""
    if table.shape.index in ("bucket", "hashing") or not table.good or table.is_broken:
        return False
    before = {entry.time for entry in table.timeline}
    table.hudi.cluster(table.base, "schedule", table.shape.options)
    planned = [entry.time for entry in table.timeline if entry.time not in before and entry.state != "COMPLETED"]
    rows = table.batch(chance, 8, known=True)
    if not planned or not rows:
        return False
    if chance.random() < 0.5:
        insert_overwrite(table, chance)
    else:
        _upsert(table, {"rows": rows}, rows, "upsert", ALLOWED)
    table.hudi.cluster(table.base, "execute", table.shape.options)
    table.undone = planned[0] if table.wrong_rows() else ""
    return True


def clean(table: Table, chance: Random) -> bool:
    """What few commits, or one version, need is kept."""
    kept = {"hoodie.clean.commits.retained": "1", "hoodie.cleaner.commits.retained": "1"}
    with table.cleaning():
        table.hudi.clean(table.base, {**table.shape.options, **chance.choice((ONE_VERSION, kept))})
    return True


def archive(table: Table, chance: Random) -> bool:
    """Two or three commits stay; savepoints may be passed."""
    settings = {
        "hoodie.keep.min.commits": "2",
        "hoodie.keep.max.commits": "3",
        "hoodie.clean.commits.retained": "1",
        "hoodie.cleaner.commits.retained": "1",
        "hoodie.archive.beyond.savepoint": chance.choice(("true", "false")),
    }
    table.hudi.archive(table.base, {**table.shape.options, **settings})
    return True


def savepoint(table: Table, chance: Random) -> bool:
    """Hudi's, on one of the last commits."""
    saved = {entry.time for entry in table.timeline if entry.action == "savepoint"}
    found = [write.instant for write in table.writes[-3:] if write.instant in {entry.time for entry in table.active}]
    if not set(found) - saved:
        return False
    table.hudi.savepoint(table.base, chance.choice(sorted(set(found) - saved)), table.shape.options)
    return True


def hudi_rollback(table: Table, chance: Random) -> bool:
    """Hudi rolls the newest commit back, whole or not."""
    if len(table.active) < 2:
        return False
    newest = table.active[-1].time
    table.taken_back({newest})
    with _maybe_dying(table, chance, UNDO_DEATHS):
        table.hudi.rollback(table.base, newest, table.shape.options)
    return True


def hudi_restore(table: Table, chance: Random) -> bool:
    """Hudi restores to a savepoint, whole or not."""
    savepoints = [entry.time for entry in table.timeline if (entry.action, entry.state) == ("savepoint", "COMPLETED")]
    if not savepoints:
        return False
    target, rule = chance.choice(savepoints), "completion" if table.version == "v9" else "requested"
    if target in {entry.time for entry in table.active}:
        removed = later(table.timeline, target, rule)
        table.wanted = [write for write in table.writes if write.instant not in removed]
        table.taken_back(removed)
    with _maybe_dying(table, chance, UNDO_DEATHS):
        table.hudi.restore(table.base, target, {**table.shape.options, **LAZY})
    return True


def killed_write(table: Table, chance: Random, deaths: tuple[Death, ...] = DEATHS) -> bool:
    """A writer dies at one of its changes."""
    rows = table.batch(chance, 10, known=True) + table.batch(chance, 3, known=False)
    with _maybe_dying(table, chance, deaths, always=True):
        _upsert(table, {"rows": rows}, rows, "upsert")
    return True


def killed_service(table: Table, chance: Random) -> bool:
    """A compaction or clustering dies at one of its changes."""
    act = clustering if table.shape.kind == "cow" or chance.random() < 0.5 else compaction
    with _maybe_dying(table, chance, DEATHS, always=True):
        act(table, chance)
    return True


def rollback_failed(table: Table, chance: Random) -> bool:
    """What the next writer would do first."""
    table.hudi.rollback_failed(table.base, table.shape.options)
    return True


def late_index(table: Table, chance: Random) -> bool:
    """An index of the metadata table is made by a later write, or by hand."""
    if not table.shape.metadata:
        return False
    if table.version == "v6" or table.shape.index != "record" or chance.random() < 0.4:
        rows = table.batch(chance, 3, known=True)
        _upsert(table, {"rows": rows}, rows, "upsert", STATISTICS)
    else:
        statement = chance.choice(("CREATE INDEX idx_val ON judged (val)", _EXPRESSION))
        table.hudi.sql(table.base, [statement], {**table.shape.options, **ALONE})
    return True


_EXPRESSION = "CREATE INDEX idx_day ON judged USING column_stats(ts) OPTIONS(expr='from_unixtime', format='yyyy-MM-dd')"


def without_metadata(table: Table, chance: Random) -> bool:
    """A write of a writer that keeps no metadata table; in a walk with all indexes, the next one makes it anew."""
    if table.shape.index == "record" and not table.shape.compact_every:
        return False
    rows = table.batch(chance, 4, known=True)
    _upsert(table, {"rows": rows}, rows, "upsert", WITHOUT if table.shape.compact_every else NO_METADATA)
    return True


def dropped_index(table: Table, chance: Random) -> bool:
    """An index is dropped; the next writer builds it anew."""
    kind = chance.choice(sorted(DROPPED))
    # Hudi 0.15.0 builds bloom filters anew under wrong names: its readers do not find them (seen without hudictl).
    if kind.lower() not in listed(table.base) or (table.version == "v6" and kind == "BLOOM_FILTERS"):
        return False
    table.hudi.index(table.base, "drop", kind, {**table.shape.options, **ALONE, **DROPPED[kind]})
    if table.version == "v6" and kind == "RECORD_INDEX":
        # Hudi 0.15.0 does not build it beside a compaction: the compaction fails, and the next write is not listed.
        rows = table.batch(chance, 3, known=True)
        _upsert(table, {"rows": rows}, rows, "upsert")
    return True


def nested_table(table: Table, chance: Random) -> bool:
    """Another table is put into a folder of this one."""
    name = chance.choice(("other", "b/other" if table.shape.partitions == "one" else "x/other"))
    if (table.base / name).exists():
        return False
    inner = support.unpack(table.hudi.version, "cow_flat_nomdt", table.base / name)
    table.strays |= {str(path.relative_to(table.base)) for path in inner.rglob("*") if path.is_file()}
    table.good = False
    return True


def stray_file(table: Table, chance: Random) -> bool:
    """Files that Hudi has not written."""
    first = next((path for path in sorted(table.base.rglob("*.parquet")) if ".hoodie" not in path.parts), None)
    place = first.parent if first is not None else table.base
    file = place / chance.choice(("_SUCCESS", "notes.txt", ".hidden", "data.csv"))
    if file.exists():
        return False
    file.write_bytes(b"" if file.name == "_SUCCESS" else b"not of this table")
    table.strays.add(str(file.relative_to(table.base)))
    table.good = False
    return True


def copied_partition(table: Table, chance: Random) -> bool:
    """Somebody copies a partition aside, with its metafile or without."""
    found = sorted(path.parent for path in table.base.rglob(".hoodie_partition_metadata*") if path.parent != table.base)
    found = [path for path in found if ".hoodie" not in path.parts and path.suffix != ".crc"]
    if table.shape.partitions != "one" or not found:
        return False
    source = chance.choice(found)
    target = source.with_name(f"{source.name}_copy")
    if target.exists():
        return False
    metafiles = shutil.ignore_patterns(".hoodie_partition_metadata*", "..hoodie_partition_metadata*")
    shutil.copytree(source, target, ignore=metafiles)
    table.strays |= {str(path.relative_to(table.base)) for path in target.rglob("*")}
    table.good = False
    return True


def lost_metafile(table: Table, chance: Random) -> bool:
    """The metafile of a partition is lost; Hudi's listing does not see it any more, its metadata table does."""
    found = sorted(table.base.rglob(".hoodie_partition_metadata"))
    found = [path for path in found if ".hoodie" not in path.parts and path.parent != table.base]
    if not found or not table.shape.metadata:
        return False
    chance.choice(found).unlink()
    table.good = False
    return True


def put(table: Table, rows: list[Any]) -> bool:
    """An upsert of just these rows."""
    _upsert(table, {"rows": rows}, rows, "upsert")
    return True


def _upsert(
    table: Table, effect: Mapping[str, Any], rows: list[Any], operation: str, more: Mapping[str, str] | None = None
) -> None:
    def act(options: dict[str, str]) -> str:
        return table.hudi.upsert(table.base, rows, operation, {**options, **(more or {})})

    _write(table, effect, act)


def _write(table: Table, effect: Mapping[str, Any], act: Callable[[dict[str, str]], str]) -> None:
    """Writes; what it did counts where it is completed, whatever the writer said."""
    before = {entry.time for entry in table.active} if (table.base / ".hoodie").exists() else set()
    try:
        act(table.shape.options)
    finally:
        new = sorted(entry.time for entry in table.active if entry.time not in before)
        if new:
            table.writes.append(Write(new[0], **effect))


def _maybe_dying(table: Table, chance: Random, deaths: tuple[Death, ...], always: bool = False) -> Any:
    """A writer that dies, or one that does not."""
    if not always and chance.random() < 0.6:
        return nullcontext()
    death = chance.choice(deaths)
    return _Dying(table, death)


class _Dying:
    """``Judge.dying``, for which it is no fault that the writer lived."""

    def __init__(self, table: Table, death: Death) -> None:
        self.table, self.death = table, death

    def __enter__(self) -> None:
        death = self.death
        arguments = {"events": death.events, "number": death.number, "after": death.after, "halt": False}
        self.table.hudi.call("die_at", path=self.table.base, **arguments)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> bool:
        died = self.table.hudi.call("revive", path=self.table.base)
        self.table.age_heartbeats()
        if died:
            self.table.past.add(DEATH)
        return bool(died) and isinstance(error, JudgeError)
