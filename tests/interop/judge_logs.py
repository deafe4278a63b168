"""Log files by Hudi's own reader, and tables of any schema: a part of ``judge_server.py``, so without hudictl, too."""

import functools
import json
import os
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from judge_java import engine, error_chain, hudi, release, storage, uri
from py4j.java_gateway import get_method
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, BinaryType, DataType, MapType, StructType

LOG_BLOCKS = Path(__file__).with_name("LogBlocks.java")
APPENDING = Path(__file__).with_name("AppendingFileSystem.java")
HANGS_AFTER_SECONDS = 10


def blocks(file: str) -> Iterator[Any]:
    """The blocks of a log file, one by one: corrupt ones are blocks too."""
    named, log_file, log_format = classes()
    reader = log_format.newReader(storage(file), log_file(named(uri(file))), reader_schema(file))
    read_block = get_method(reader, "next")  # py4j's own next() hides every error
    try:
        while reader.hasNext():
            yield read_block()
    finally:
        reader.close()


@functools.cache
def classes() -> tuple[Any, Any, Any]:
    """Hudi's classes for a path, a log file and its format: py4j looks for each part of a name in all jars."""
    package = hudi().org.apache.hudi
    return package.storage.StoragePath, package.common.model.HoodieLogFile, package.common.table.log.HoodieLogFormat


def reader_schema(file: str) -> Any:
    """None, so that each block is read by its own; of change data, without which Hudi throws, the file's first."""
    if not file.endswith(".cdc"):
        return None
    content = Path(file).read_bytes()
    begin = content.find(b'{"type":"record"')
    if begin < 0:
        return None
    end = json.JSONDecoder().raw_decode(content.decode("latin-1"), begin)[1]
    return parse_schema(content[begin:end].decode())


def parse_schema(text: str) -> Any:
    """Avro's schema, which 1.2 wants in Hudi's own class."""
    if release() >= (1, 2):
        return hudi().org.apache.hudi.common.schema.HoodieSchema.parse(text)
    return hudi().org.apache.avro.Schema.Parser().parse(text)


def log_blocks(file: str) -> list[dict[str, Any]]:
    """What the reader says of each block without decoding its content."""
    return [json.loads(as_json().block(block)) for block in blocks(file)]


def log_records(file: str) -> list[dict[str, Any]]:
    """The blocks with all that is in them: records, or the keys of a delete block; none of other blocks."""
    return [json.loads(as_json().block(block)) | {"records": records(block)} for block in blocks(file)]


def log_counts(files: list[str]) -> dict[str, list[list[Any]]]:
    """[type, instant, number of records or None] of each block of each file, by decoding every record."""
    return {file: [counted(block) for block in log_records(file)] for file in files}


def counted(block: dict[str, Any]) -> list[Any]:
    """One block of ``log_counts``."""
    found = block["records"]
    return [block["type"], block["header"].get("INSTANT_TIME"), None if found is None else len(found)]


def records(block: Any) -> list[Any] | None:
    """The records of a block as Avro prints them: in JSON, where bytes are a string of Latin-1 characters."""
    found = json.loads(as_json().records(block))
    return found and [json.loads(record) if isinstance(record, str) else record for record in found]


@functools.cache
def as_json() -> Any:
    """The judge's own Java, ready to be called."""
    return compiled(LOG_BLOCKS).loadClass(LOG_BLOCKS.stem).newInstance()


def compiled(source: Path) -> Any:
    """A class loader with a class of ours."""
    compiler = hudi().org.codehaus.janino.SimpleCompiler()  # Spark's own
    compiler.cook(source.read_text())
    return compiler.getClassLoader()


def replay(folder: str) -> dict[str, dict[str, Any]]:
    """What the reader yields of each file of a folder: its blocks up to the end or to an error, and that error.

    A file that takes longer than ten seconds is left to hang.
    """
    return {name: replayed(os.path.join(folder, name)) for name in sorted(os.listdir(folder))}


def replayed(file: str) -> dict[str, Any]:
    """One file: {"blocks": [[type, header, content position, content length]], "error": [exceptions]}."""
    found: list[list[Any]] = []
    errors: list[str] = [f"TimeoutError: nothing more in {HANGS_AFTER_SECONDS} s"]

    def work() -> None:
        try:
            for block in blocks(file):
                one = json.loads(as_json().block(block))
                found.append([one["type"], one["header"], one["content_offset"], one["content_bytes"]])
            errors.clear()
        except Exception as error:
            errors[:] = error_chain(error)

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    worker.join(HANGS_AFTER_SECONDS)
    return {"blocks": list(found), "error": list(errors)}


def appending() -> None:
    """Lets paths of the scheme ``dfs`` be local files that can be appended to; 0.15 appends to logs there."""
    hadoop = hudi().org.apache.hadoop
    settings = hadoop.conf.Configuration(SparkSession.active()._jsc.hadoopConfiguration())
    settings.setClassLoader(compiled(APPENDING))
    settings.set("fs.dfs.impl", APPENDING.stem)
    hadoop.fs.FileSystem.get(hudi().java.net.URI("dfs:///"), settings)  # this one is kept and used by all


# Tables of any schema


def write_avro(path: str, schema: str, records: list[Any], options: dict[str, str]) -> None:
    """Upserts records of any Avro schema, given in Avro's JSON encoding, through Hudi's write client."""
    package = hudi().org.apache.hudi
    builder = package.config.HoodieWriteConfig.newBuilder().withPath(uri(path)).withSchema(schema)
    client = package.client.SparkRDDWriteClient(engine(), builder.withProps(options).build())
    try:
        found = hudi().java.util.ArrayList()
        for record in records:
            found.add(hoodie_record(schema, record))
        instant = client.startCommit()
        statuses = client.upsert(SparkSession.active()._jsc.parallelize(found, 1), instant)
        client.commit(instant, statuses)
    finally:
        client.close()


def hoodie_record(schema: str, record: Any) -> Any:
    """A record as Hudi's writers carry it: its key is in ``id``, its ordering value in ``ts``."""
    avro, model = hudi().org.apache.avro, hudi().org.apache.hudi.common.model
    parsed = avro.Schema.Parser().parse(schema)
    decoder = avro.io.DecoderFactory.get().jsonDecoder(parsed, json.dumps(record))
    read = avro.generic.GenericDatumReader(parsed).read(None, decoder)
    payload = model.OverwriteWithLatestAvroPayload(read, record["ts"])
    return model.HoodieAvroRecord(model.HoodieKey(record["id"], ""), payload)


def state(path: str, key: str | None = None) -> dict[str, Any]:
    """A snapshot query of all columns as text: {"columns", "rows"}; of one record by its key alone, if asked."""
    session = SparkSession.active()
    session.conf.set("spark.sql.parquet.enableVectorizedReader", "false")  # it fails on some of Avro's types
    try:
        return as_texts(session.read.format("hudi").load(uri(path)), key)
    finally:
        session.conf.unset("spark.sql.parquet.enableVectorizedReader")


def as_texts(found: DataFrame, key: str | None) -> dict[str, Any]:
    """The rows of ``state``."""
    if key is not None:
        found = found.where(found["_hoodie_record_key"] == key)
    texts = found.select(*(text(found[field.name], field.dataType).alias(field.name) for field in found.schema))
    return {"columns": found.columns, "rows": sorted(map(list, texts.collect()), key=str)}


def text(column: Column, kind: DataType) -> Column:
    """A value as Spark casts it; bytes in hexadecimal, nested values as JSON."""
    if isinstance(kind, BinaryType):
        return sf.hex(column)
    if isinstance(kind, StructType | ArrayType | MapType):
        return sf.to_json(column, {"ignoreNullFields": "false"})
    return column.cast("string")


def write_query(path: str, query: str, operation: str, options: dict[str, str], mode: str = "append") -> None:
    """Writes what a query yields, with these options and no others."""
    data: DataFrame = SparkSession.active().sql(query)
    named = options | {"hoodie.datasource.write.operation": operation}
    data.write.format("hudi").options(**named).mode(mode).save(uri(path))


def sql(path: str, statements: Iterable[str], options: dict[str, str]) -> list[list[Any]]:
    """Runs statements about the table, which is ``judged`` in them; the rows of the last one."""
    session = SparkSession.active()
    session.sql(f"CREATE TABLE judged USING hudi LOCATION '{uri(path)}'")
    for name, value in options.items():
        session.conf.set(name, value)
    try:
        found: list[Any] = []
        for statement in statements:
            found = session.sql(statement).collect()
        return [list(row) for row in found]
    finally:
        for name in options:
            session.conf.unset(name)
        session.sql("DROP TABLE judged")  # the catalog's entry: the table's folder was there before it
