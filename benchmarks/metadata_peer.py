"""The real Hudi in the benchmark of the metadata table: a process of its own that does some steps on one table.

    python -m benchmarks.metadata_peer REQUEST

``REQUEST`` is JSON, as ``benchmarks.metadata`` writes it.
"""

import json
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

PARTITIONS = 4
INDEXES = {
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.metadata.global.record.level.index.enable": "true",
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.metadata.index.partition.stats.enable": "true",
    "hoodie.metadata.record.index.min.filegroup.count": "8",
    "hoodie.metadata.global.record.level.index.min.filegroup.count": "8",
    "hoodie.index.type": "RECORD_INDEX",
}
WRITER = {
    "hoodie.table.name": "indexed",
    "hoodie.table.timeline.timezone": "UTC",
    "hoodie.datasource.write.table.type": "COPY_ON_WRITE",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.partitionpath.field": "p",
    "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.SimpleKeyGenerator",
    # New rows get files of their own: an upsert rewrites one file, however many there are.
    "hoodie.parquet.small.file.limit": "0",
}
LOAD = {
    "hoodie.metadata.enable": "false",
    "hoodie.datasource.write.operation": "bulk_insert",
    "hoodie.bulkinsert.sort.mode": "NONE",
}


def peer(request: dict[str, Any]) -> None:
    """Does the steps of a request on one table; prints ``{"steps": [[seconds, answer], ...]}``."""
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": request["memory"],
        "spark.driver.extraClassPath": request["jars"],
        "spark.local.dir": request["scratch"],
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
        "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
        "spark.sql.session.timeZone": "UTC",
    }
    builder = SparkSession.builder.master("local[*]").appName("hudi-peer")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    answers = []
    for name, *arguments in request["steps"]:
        begun = time.monotonic()
        answer = STEPS[name](session, request["base"], *arguments)
        answers.append([round(time.monotonic() - begun, 3), answer])
    session.stop()
    print(json.dumps({"steps": answers}), flush=True)


def load(session: Any, base: str, keys: int, files: int) -> None:
    """All rows in one commit: each of Spark's tasks writes one file of one partition."""
    rows = session.range(0, keys, 1, files).selectExpr(
        "id", "0L AS ts", "concat('value-', id % 1000) AS val", f"concat('p', id div {keys_each(keys)}) AS p"
    )
    rows.write.format("hudi").options(**WRITER | LOAD).mode("errorifexists").save(base)


def upsert(session: Any, base: str, keys: int, ids: Sequence[int], ts: int) -> None:
    """A few rows, found by the record index; new keys are in the first partition."""
    rows = ", ".join(f"({one}L, {ts}L, 'value-{ts}', 'p{one // keys_each(keys) % PARTITIONS}')" for one in ids)
    options = WRITER | INDEXES | {"hoodie.datasource.write.operation": "upsert"}
    data = session.sql(f"SELECT * FROM VALUES {rows} AS t(id, ts, val, p)")
    data.write.format("hudi").options(**options).mode("append").save(base)


def keys_each(keys: int) -> int:
    """How many keys of the load a partition has."""
    return -(-keys // PARTITIONS)


def savepoint(session: Any, base: str, instant: str) -> None:
    """Makes a savepoint."""
    with_client(session, base, lambda client: client.savepoint(instant, "benchmark", ""))


def restore(session: Any, base: str, instant: str) -> None:
    """Hudi's own restore."""
    with_client(session, base, lambda client: client.restoreToSavepoint(instant))


def with_client(session: Any, base: str, act: Callable[[Any], Any]) -> None:
    """Runs something with Hudi's write client, which is configured for the indexes as the writer is."""
    jvm = session.sparkContext._jvm
    properties = jvm.java.util.Properties()
    for name, value in (WRITER | INDEXES).items():
        properties.setProperty(name, value)
    config = jvm.org.apache.hudi.config.HoodieWriteConfig.newBuilder().withPath(base).withProps(properties).build()
    engine = jvm.org.apache.hudi.client.common.HoodieSparkEngineContext(session.sparkContext._jsc)
    client = jvm.org.apache.hudi.client.SparkRDDWriteClient(engine, config)
    act(client)
    client.close()


def read(session: Any, base: str, ids: Sequence[int]) -> list[Any]:
    """The sums of all rows by the metadata table and by listing, and the ids and ``ts`` of some keys, by the index."""
    options = {"hoodie.metadata.enable": "true", "hoodie.enable.data.skipping": "true"}
    indexed = session.read.format("hudi").options(**options).load(base)
    listed = session.read.format("hudi").option("hoodie.metadata.enable", "false").load(base)
    sums = [list(rows.selectExpr("count(*)", "sum(id)", "sum(ts)").first()) for rows in (indexed, listed)]
    some = indexed.where(f"id IN ({', '.join(map(str, ids))})").select("id", "ts").collect()
    return [*sums, sorted(map(list, some))]


STEPS: dict[str, Callable[..., Any]] = {
    "load": load,
    "upsert": upsert,
    "savepoint": savepoint,
    "restore": restore,
    "read": read,
}


if __name__ == "__main__":
    peer(json.loads(sys.argv[1]))
