"""The judge's process: one Spark session with the real Hudi, serving JSON lines. Started by ``judge.py`` alone.

Runs with nothing but PySpark 3.5 and Hudi's jar: ``python judge_server.py JARS SCRATCH STORE``. Never
imports hudictl, so that the judge cannot share a mistake with what it judges. No data goes through Python workers:
they'd cost a fork for each query, and rows are few.
"""

import hashlib
import json
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import judge_bootstrap  # beside this file, as the next ones
import judge_catalog
import judge_config
import judge_hfile
import judge_indexes
import judge_locks
import judge_logs
import judge_validators
import judge_walks
from judge_deaths import changes_seen, die_at, file_system, revive
from judge_java import engine, error_chain, hudi, java_list, java_map, meta_client, release, storage, storage_conf, uri
from judge_view import files, slices
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

METADATA = "hoodie.metadata.enable"
PARTITION_FIELDS = "hoodie.datasource.write.partitionpath.field"
KEY_GENERATORS = {"NON_PARTITION": "Nonpartitioned", "SIMPLE": "Simple", "COMPLEX": "Complex", "CUSTOM": "Custom"}
# Small numbers of tasks for small tables; upserts of the same table must not wait for a lock that nobody holds.
WRITE_DEFAULTS = {
    METADATA: "true",
    "hoodie.insert.shuffle.parallelism": "2",
    "hoodie.upsert.shuffle.parallelism": "2",
    "hoodie.bulkinsert.shuffle.parallelism": "2",
    "hoodie.delete.shuffle.parallelism": "2",
    "hoodie.rollback.parallelism": "2",
    "hoodie.cleaner.parallelism": "2",
    "hoodie.archive.merge.enable": "false",
}
# Indexes of the metadata table that a writer drops unless its own settings name them again.
INDEX_SETTINGS = {
    "record_index": ("hoodie.metadata.record.index.enable", "hoodie.metadata.global.record.level.index.enable"),
    "column_stats": ("hoodie.metadata.index.column.stats.enable",),
    "partition_stats": ("hoodie.metadata.index.partition.stats.enable",),
    "bloom_filters": ("hoodie.metadata.index.bloom.filter.enable",),
}


def start_spark(jars: str, scratch: str, store: str) -> SparkSession:
    """The one session; nothing in it is kept between queries."""
    connector = json.loads(store)
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "2g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraClassPath": jars,  # spark.jars would copy a hundred megabytes at each start
        # It lives for minutes and does everything a few times: compiling well, and verifying classes whose jars come
        # from Maven, cost more than they bring. Hudi allocates 16 MB for each log it reads: a small young generation
        # is full after some tens of them.
        "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -Xmn1000m -XX:TieredStopAtLevel=1"
        f" -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote -Djava.io.tmpdir={scratch}"
        f" -Dhudictl.s3.endpoint={connector.get('fs.s3a.endpoint', '')}",
        "spark.local.dir": scratch,
        "spark.sql.warehouse.dir": f"{scratch}/warehouse",
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
        "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.orc.enableVectorizedReader": "false",  # Hudi 1.2.0 fails on its columns
        "spark.sql.hive.filesourcePartitionFileCacheSize": "0",  # else a listing may be an earlier table's
        **{f"spark.hadoop.{name}": value for name, value in connector.items()},
    }
    builder = SparkSession.builder.master("local[2]").appName("hudictl-judge")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("WARN")
    return spark


# Reading


def snapshot(path: str, metadata: bool = True, as_of: str | None = None, query: str = "snapshot") -> DataFrame:
    """A snapshot query, or read optimised; one of a named instant is a time travel."""
    reader = SparkSession.active().read.format("hudi").option(METADATA, str(metadata).lower())
    if (1, 0) <= release() < (1, 1):
        # 1.0.2's newer reader takes every base file for Parquet.
        orc = properties(path).get("hoodie.table.base.file.format") == "ORC"
        reader = reader.option("hoodie.file.group.reader.enabled", str(not orc).lower())
    if as_of is not None:
        reader = reader.option("as.of.instant", as_of)
    return reader.option("hoodie.datasource.query.type", query).load(uri(path))


def read(
    path: str, metadata: bool = True, as_of: str | None = None, columns: Iterable[str] = ("id", "ts", "val")
) -> list[tuple[Any, ...]]:
    """The rows, sorted."""
    return sorted(tuple(row) for row in snapshot(path, metadata, as_of).select(*columns).collect())


def rows(path: str, metadata: bool = True, as_of: str | None = None, query: str = "snapshot") -> dict[str, Any]:
    """How many rows, and a digest of them."""
    return digest(
        sorted(tuple(row) for row in snapshot(path, metadata, as_of, query).select("id", "ts", "val").collect())
    )


def changes(path: str) -> dict[str, Any]:
    """The same of all that changed since the table was made: a query of changes (CDC)."""
    options = {
        "hoodie.datasource.query.type": "incremental",
        "hoodie.datasource.query.incremental.format": "cdc",
        "hoodie.datasource.read.begin.instanttime": "0",
    }
    found = SparkSession.active().read.format("hudi").options(**options).load(uri(path)).collect()
    return digest(sorted(tuple(row) for row in found))


def digest(found: list[tuple[Any, ...]]) -> dict[str, Any]:
    """The number of rows, and a digest of them."""
    return {"count": len(found), "digest": hashlib.sha256(repr(found).encode()).hexdigest()[:16]}


def instant_fields(instant: Any) -> list[str]:
    """[requested time, action, state, completion time or ""]; 0.15 names the times in its own way."""
    if release() >= (1, 0):
        requested, completed = instant.requestedTime(), instant.getCompletionTime()
    else:
        requested, completed = instant.getTimestamp(), instant.getStateTransitionTime()
    state = instant.getState().name()
    return [requested, instant.getAction(), state, (completed or "") if state == "COMPLETED" else ""]


def timeline(path: str) -> list[list[str]]:
    """Hudi's active timeline."""
    return [instant_fields(instant) for instant in java_list(meta_client(path).getActiveTimeline().getInstants())]


def properties(path: str) -> dict[str, str]:
    """Hudi's table configuration."""
    return java_map(meta_client(path).getTableConfig().getProps())


# Writing


def write_options(path: str) -> dict[str, str]:
    """The options that a writer of this table needs, from its own properties."""
    table = properties(path)
    fields = partition_fields(table)
    options = WRITE_DEFAULTS | {
        "hoodie.table.name": table["hoodie.table.name"],
        "hoodie.datasource.write.table.type": table["hoodie.table.type"],
        "hoodie.datasource.write.recordkey.field": table.get("hoodie.table.recordkey.fields", "id"),
        "hoodie.datasource.write.precombine.field": table.get("hoodie.table.ordering.fields")
        or table.get("hoodie.table.precombine.field", "ts"),
        PARTITION_FIELDS: ",".join(fields),
        "hoodie.datasource.write.keygenerator.class": key_generator(table, fields),
        "hoodie.table.cdc.enabled": table.get("hoodie.table.cdc.enabled", "false"),
    }
    kept = ("hoodie.datasource.write.hive_style_partitioning", "hoodie.datasource.write.partitionpath.urlencode")
    options |= {name: table[name] for name in kept if name in table}
    for index in table.get("hoodie.table.metadata.partitions", "").split(","):
        options |= dict.fromkeys(INDEX_SETTINGS.get(index, ()), "true")
    return options


def partition_fields(table: dict[str, str]) -> list[str]:
    """The partition columns; a custom key generator's have their kind after a colon."""
    fields = table.get("hoodie.table.partition.fields", "")
    return [field.split(":")[0] for field in fields.split(",") if field]


def key_generator(table: dict[str, str], fields: list[str]) -> str:
    """The class that version 6 names, the type that later versions name, or what the number of fields implies."""
    if named := table.get("hoodie.table.keygenerator.class"):
        return named
    implied = ("NON_PARTITION", "SIMPLE", "COMPLEX")[min(len(fields), 2)]
    kind = KEY_GENERATORS[table.get("hoodie.table.keygenerator.type", implied)]
    return f"org.apache.hudi.keygen.{kind}KeyGenerator"


def frame(values: Iterable[Iterable[Any]], fields: list[str]) -> DataFrame:
    """Rows of (id, ts, val, partition fields) as a data frame, parsed by Spark itself."""
    columns = ["id BIGINT", "ts BIGINT", "val STRING", *(f"`{field}` STRING" for field in fields or ["p"])]
    names = ["id", "ts", "val", *(fields or ["p"])]
    text = json.dumps([dict(zip(names, row, strict=True)) for row in values])
    schema = f"ARRAY<STRUCT<{', '.join(column.replace(' ', ': ', 1) for column in columns)}>>"
    return SparkSession.active().sql(f"SELECT inline(from_json(:rows, '{schema}'))", args={"rows": text})


def write(path: str, data: DataFrame, operation: str, options: dict[str, Any], mode: str = "append") -> str:
    """Writes, and returns the time of the first write instant that was not there before."""
    before = {entry[0] for entry in timeline(path)} if mode == "append" else set()
    texts = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in options.items()}
    data.write.format("hudi").options(**texts).option("hoodie.datasource.write.operation", operation).mode(mode).save(
        uri(path)
    )
    writes = ("commit", "deltacommit", "replacecommit")
    return min((entry[0] for entry in timeline(path) if entry[1] in writes and entry[0] not in before), default="")


def create(path: str, rows: list[list[Any]], operation: str, options: dict[str, Any]) -> str:
    """A new table, copy on write and partitioned by ``p`` unless the options say otherwise."""
    fields = [field for field in str(options.get(PARTITION_FIELDS, "p")).split(",") if field]
    defaults = WRITE_DEFAULTS | {
        "hoodie.table.name": os.path.basename(os.path.dirname(path)) or "judged",
        "hoodie.datasource.write.table.type": "COPY_ON_WRITE",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.precombine.field": "ts",
        PARTITION_FIELDS: ",".join(fields),
        "hoodie.datasource.write.keygenerator.class": key_generator({}, fields),
    }
    return write(path, frame(rows, fields), operation, defaults | options, mode="errorifexists")


def bootstrap(path: str, source: str, rows: list[list[Any]], mode: str, options: dict[str, Any]) -> None:
    """A table bootstrapped from Parquet files, which are written first, unless there are no rows."""
    if rows:
        judge_bootstrap.write_source(source, frame(rows, ["p"]))
    judge_bootstrap.bootstrap(path, source, mode, WRITE_DEFAULTS | options)


def upsert(path: str, rows: list[list[Any]], operation: str, options: dict[str, Any]) -> str:
    """Any write operation on a table that exists."""
    data = frame(rows, partition_fields(properties(path)))
    return write(path, data, operation, write_options(path) | options)


def beside(path: str, rows: list[list[Any]], other: list[list[Any]], options: dict[str, Any]) -> None:
    """Upserts some rows slowly, and other ones meanwhile: that write begins later and is completed first."""
    fields, before = partition_fields(properties(path)), timeline(path)
    settings = write_options(path) | options
    judge_walks.beside(
        lambda: write(path, judge_walks.slow(frame(rows, fields)), "upsert", settings),
        lambda: timeline(path) != before,
        lambda: write(path, frame(other, fields), "upsert", settings),
    )


def delete(path: str, ids: list[int], options: dict[str, Any]) -> str:
    """Deletes records; ts is raised, or a table ordered by ts might keep them."""
    columns = ["id", "ts", "val", *(partition_fields(properties(path)) or ["p"])]
    wanted = snapshot(path, False).where(f"id IN ({', '.join(str(int(one)) for one in ids)})").select(*columns)
    data = frame([tuple(row) for row in wanted.withColumn("ts", wanted.ts + 1).collect()], columns[3:])
    return write(path, data, "delete", write_options(path) | options)


def delete_partitions(path: str, partitions: list[str], options: dict[str, Any]) -> str:
    """Drops partitions."""
    named = {"hoodie.datasource.write.partitions.to.delete": ",".join(partitions)}
    return upsert(path, [], "delete_partition", named | options)


# Administration


def write_config(path: str, options: dict[str, Any]) -> Any:
    """The configuration of a writer of the table."""
    merged = write_options(path) | {name: str(value) for name, value in options.items()}
    return hudi().org.apache.hudi.config.HoodieWriteConfig.newBuilder().withPath(uri(path)).withProps(merged).build()


def with_client(path: str, options: dict[str, Any], act: Callable[[Any], Any]) -> Any:
    """Runs something with Hudi's Spark write client, configured as a writer of the table would be."""
    client = hudi().org.apache.hudi.client.SparkRDDWriteClient(engine(), write_config(path, options))
    try:
        return act(client)
    finally:
        client.close()


def savepoint(path: str, instant: str, options: dict[str, Any]) -> None:
    """Makes a savepoint."""
    with_client(path, options, lambda client: client.savepoint(instant, "judge", "made by the judge"))


def delete_savepoint(path: str, instant: str, options: dict[str, Any]) -> None:
    """Deletes a savepoint."""
    with_client(path, options, lambda client: client.deleteSavepoint(instant))


def restore(path: str, savepoint: str, options: dict[str, Any]) -> None:
    """Restores to a savepoint."""
    with_client(path, options, lambda client: client.restoreToSavepoint(savepoint))


def rollback(path: str, instant: str, options: dict[str, Any]) -> bool:
    """Rolls back one instant."""
    return bool(with_client(path, options, lambda client: client.rollback(instant)))


def rollback_failed(path: str, options: dict[str, Any]) -> bool:
    """Rolls back failed writes; 1.0 and later want the table handed in."""

    def act(client: Any) -> bool:
        table = (meta_client(path),) if release() >= (1, 0) else ()
        return bool(client.rollbackFailedWrites(*table))

    return bool(with_client(path, options, act))


def clean(path: str, options: dict[str, Any]) -> None:
    """Runs the cleaner."""
    with_client(path, options, lambda client: client.clean())


def archive(path: str, options: dict[str, Any]) -> None:
    """Archives the timeline."""
    with_client(path, options, lambda client: client.archive())


def compact(path: str, mode: str, options: dict[str, Any]) -> None:
    """Compaction by Hudi's own procedure."""
    run_service("run_compaction", path, mode, options)


def cluster(path: str, mode: str, options: dict[str, Any]) -> None:
    """Clustering by Hudi's own procedure."""
    run_service("run_clustering", path, mode, options)


def index(path: str, mode: str, kind: str, options: dict[str, Any]) -> str:
    """Indexing of one kind (COLUMN_STATS), as HoodieIndexer does it; the scheduled instant, which ``run`` is given."""
    java, kinds = hudi(), hudi().org.apache.hudi.metadata.MetadataPartitionType
    new = release() >= (1, 0)

    def act(client: Any) -> str:
        if mode == "schedule":
            paths = (java.java.util.Collections.emptyList(),) if new else ()
            found = client.scheduleIndexing(java.java.util.Collections.singletonList(kinds.valueOf(kind)), *paths)
            return str(found.get()) if found.isPresent() else ""
        if mode == "drop":
            what = kinds.valueOf(kind).getPartitionPath() if new else kinds.valueOf(kind)
            client.dropIndex(java.java.util.Collections.singletonList(what))
            return ""
        client.index(kind)
        return kind

    return str(with_client(path, options, act))


def show_rollbacks(path: str) -> list[list[Any]]:
    """What Hudi's own procedures show: [rollback, rolled back, files deleted, [the files]]; a catalog's table only."""
    session = SparkSession.active()
    session.sql(f"CREATE TABLE judged USING hudi LOCATION {literal(uri(path))}")
    try:
        found = session.sql("CALL show_rollbacks(table => 'judged')").collect()
        return [[row[0], row[1], row[2], rolled_back_files(row[0])] for row in found]
    finally:
        session.sql("DROP TABLE judged")  # the catalog's entry: the table's folder was there before it


def rolled_back_files(rollback: str) -> list[str]:
    """The files of one rollback that its details name as deleted."""
    call = f"CALL show_rollback_detail(table => 'judged', instant_time => {literal(rollback)})"
    return sorted(row[3] for row in SparkSession.active().sql(call).collect() if row[4])


def run_service(procedure: str, path: str, mode: str, options: dict[str, Any]) -> None:
    """A table service by Hudi's own procedure."""
    # The procedure takes no option without a value, nor one with a comma in it; such are the table's own, too.
    told = {name: str(value) for name, value in (write_options(path) | options).items()}
    text = ",".join(f"{name}={value}" for name, value in told.items() if value and "," not in value)
    named = {"op": mode, "path": uri(path), "options": text}
    arguments = ", ".join(f"{name} => {literal(value)}" for name, value in named.items())
    SparkSession.active().sql(f"CALL {procedure}({arguments})").collect()


def heartbeat_expired(path: str, instant: str, interval_ms: int, misses: int) -> bool:
    """Whether Hudi's heartbeat client calls the writer of an instant dead."""
    package = hudi().org.apache.hudi.client.heartbeat
    client = package.HoodieHeartbeatClient(storage(path), uri(path), interval_ms, misses)
    return bool(client.isHeartbeatExpired(instant))


def markers(path: str, instant: str) -> list[str]:
    """The markers of an instant, as Hudi's rollback reads them."""

    def act(client: Any) -> list[str]:
        package = hudi().org.apache.hudi.table
        table = package.HoodieSparkTable.create(client.getConfig(), engine())
        utils = package.marker.MarkerBasedRollbackUtils
        return sorted(java_list(utils.getAllMarkerPaths(table, engine(), instant, 2)))

    return list(with_client(path, {}, act))


def literal(text: str) -> str:
    """A string literal of Spark SQL: Hudi's CALL takes no parameters."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


# Configuration and locks


def settings(file: str) -> dict[str, str]:
    """A file of settings, as Hudi's tools read it."""
    package = hudi().org.apache.hudi
    conf = SparkSession.active()._jsc.hadoopConfiguration()
    read = package.common.config.DFSPropertiesConfiguration(conf, package.storage.StoragePath(uri(file)))
    return java_map(read.getProps())


def lock(path: str, options: dict[str, Any], wait_ms: int) -> bool:
    """Takes a table's lock by the provider's own class; False where another has it."""
    return judge_locks.lock(hudi(), path, write_config(path, options), storage_conf(), wait_ms)


# Formats


def avro_schema(record: str) -> dict[str, Any]:
    """A compiled schema."""
    schema = getattr(hudi().org.apache.hudi.avro.model, record).getClassSchema()
    return dict(json.loads(schema.toString()))


def decode(file: str, record: str) -> dict[str, Any]:
    """An Avro file's only record, resolved into Hudi's own class as its timeline code does."""
    avro = hudi().org.apache.avro
    schema = getattr(hudi().org.apache.hudi.avro.model, record).getClassSchema()
    reader = avro.file.DataFileReader.openReader(
        hudi().java.io.File(file), avro.specific.SpecificDatumReader(None, schema)
    )
    try:
        found = [json.loads(one.toString()) for one in iter(lambda: reader.next() if reader.hasNext() else None, None)]
    finally:
        reader.close()
    if len(found) != 1:
        raise ValueError(f"{len(found)} records in {file}")
    return dict(found[0])


OPERATIONS: dict[str, Callable[..., Any]] = {
    operation.__name__: operation
    for operation in (
        rows, changes, read, files, slices, timeline, properties, create, bootstrap, upsert, delete, delete_partitions,
        savepoint, delete_savepoint, restore, rollback, rollback_failed, clean, archive, compact, cluster, index,
        show_rollbacks, settings, lock, judge_locks.unlock, heartbeat_expired, markers, avro_schema, decode, die_at,
        revive, changes_seen,
        judge_logs.log_blocks, judge_logs.log_records, judge_logs.log_counts, judge_logs.replay, judge_logs.state,
        judge_logs.write_query, judge_logs.write_avro, judge_logs.appending, judge_logs.sql,
        judge_hfile.read_hfile, judge_hfile.write_hfile, judge_hfile.listing, judge_hfile.record_index_groups,
        judge_validators.validate_data, judge_validators.validate_metadata, beside, judge_walks.filtered,
        judge_indexes.index_differences, judge_catalog.hiveql, judge_config.table_config,
        judge_config.table_schema, judge_config.schema_keepers,
    )
}  # fmt: skip


# Serving


def answer(line: str) -> dict[str, Any]:
    """One reply; whatever an operation raises is a reply too."""
    try:
        request = json.loads(line)
        return {"ok": OPERATIONS[request.pop("op")](**request)}
    except (Exception, Py4JJavaError) as error:
        traceback.print_exc()
        return {"error": error_chain(error)}


def main(jars: str, scratch: str, store: str) -> None:
    """Serves until the input ends or a request says exit."""
    # Replies have the real standard output to themselves: Spark's and the JVM's chatter goes with the log.
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    spark = start_spark(jars, scratch, store)
    file_system()
    requests: Iterator[str] = iter(sys.stdin)
    print(json.dumps({"ok": "ready"}), file=replies, flush=True)
    for line in requests:
        if json.loads(line)["op"] == "exit":
            break
        print(json.dumps(answer(line)), file=replies, flush=True)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
