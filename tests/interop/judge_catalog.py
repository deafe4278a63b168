"""A Hive catalog, by Hive's own language, in the judge's process."""

from typing import Any

from judge_java import hudi, java_list
from pyspark.sql import SparkSession


def hiveql(metastore: str, statements: list[str]) -> list[str]:
    """Runs statements in Hive, which Spark brings, on the metastore at a URI; the rows of the last one."""
    jvm, context = hudi(), SparkSession.active().sparkContext._jsc
    conf = jvm.org.apache.hadoop.conf.Configuration(context.hadoopConfiguration())
    conf.set("hive.metastore.uris", metastore)
    utils: Any = getattr(getattr(jvm.org.apache.spark.sql.hive, "HiveUtils$"), "MODULE$")
    client = utils.newClientForMetadata(context.sc().conf(), conf)
    rows: list[str] = []
    jvm.java.lang.System.setProperty("spark.testing", "true")  # else Spark does not let Hive run a statement
    try:
        for statement in statements:
            found = client.runSqlHive(statement)
            rows = [str(row) for row in java_list(jvm.scala.collection.JavaConverters.seqAsJavaList(found))]
    finally:
        jvm.java.lang.System.clearProperty("spark.testing")
    return rows
