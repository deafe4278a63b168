"""Tables that are bootstrapped from Parquet files, for the judge's process."""

from typing import Any

from judge_java import uri
from pyspark.sql import DataFrame, SparkSession

_SELECTORS = "org.apache.hudi.client.bootstrap.selector"
_MODES = {
    "full": {"hoodie.bootstrap.mode.selector": f"{_SELECTORS}.FullRecordBootstrapModeSelector"},
    "metadata": {"hoodie.bootstrap.mode.selector": f"{_SELECTORS}.MetadataOnlyBootstrapModeSelector"},
    "mixed": {
        "hoodie.bootstrap.mode.selector": f"{_SELECTORS}.BootstrapRegexModeSelector",
        "hoodie.bootstrap.mode.selector.regex": ".*part-0",
        "hoodie.bootstrap.mode.selector.regex.mode": "METADATA_ONLY",
    },
}
_OPTIONS = {
    "hoodie.table.name": "bootstrapped",
    "hoodie.datasource.write.operation": "bootstrap",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.partitionpath.field": "p",
    "hoodie.datasource.write.hive_style_partitioning": "true",
    "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.SimpleKeyGenerator",
    "hoodie.bootstrap.keygen.class": "org.apache.hudi.keygen.SimpleKeyGenerator",
    "hoodie.bootstrap.full.input.provider": "org.apache.hudi.bootstrap.SparkParquetBootstrapDataProvider",
    "hoodie.bootstrap.parallelism": "2",
    # With its default, Hudi 1.2.0 fails after a bootstrap of metadata only.
    "hoodie.metadata.index.column.stats.enable": "false",
}


def write_source(source: str, data: DataFrame) -> None:
    """The Parquet files of some rows, one for each partition."""
    data.repartition(1).write.partitionBy("p").mode("overwrite").parquet(uri(source))


def bootstrap(path: str, source: str, mode: str, options: dict[str, Any]) -> None:
    """A table of the rows of Parquet files: ``full``, ``metadata`` or ``mixed``, with metadata only of part-0. One that
    is there is deleted."""
    empty = SparkSession.active().createDataFrame([], "id long, ts long, val string, p string")
    settings = _OPTIONS | _MODES[mode] | {"hoodie.bootstrap.base.path": uri(source)} | options
    empty.write.format("hudi").options(**settings).mode("overwrite").save(uri(path))
