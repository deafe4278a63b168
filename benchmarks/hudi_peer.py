"""The real Hudi as a contender: a process that starts PySpark and calls Hudi's own write client, or a procedure.

Run by path, not as a module: it needs nothing but PySpark 3.5, so that it can have an interpreter of its own.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

OF_LOGS = ("show_logfile_metadata", "show_logfile_records")
OF_TABLE = ("create_metadata_table", "validate_metadata_table_files")
LISTS = (
    *("show_commits", "show_compaction", "show_rollbacks", "show_savepoints", "show_table_properties", "stats_wa"),
    *("show_metadata_table_stats", "show_metadata_table_partitions", "show_fsview_all", "stats_file_sizes"),
)
PROCEDURES = (*OF_LOGS, *OF_TABLE, *LISTS)
EXTENSION = {
    "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
    "spark.sql.catalogImplementation": "in-memory",
}


def main() -> None:
    """Does one operation on one table and prints the seconds it took as a JSON line."""
    start = time.monotonic()
    # Run by path, its folder comes first, and copy.py in it would be taken for Python's own.
    sys.path.remove(str(Path(__file__).resolve().parent))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("operation", choices=["savepoint", "restore", "rollback", *PROCEDURES])
    parser.add_argument("base")
    parser.add_argument("instant", nargs="?", default="", help="of a procedure: which logs")
    parser.add_argument("--jar", required=True, help="comma list: Hudi's bundle, and a store's connector")
    parser.add_argument(
        "--conf", action="append", default=[], metavar="K=V", help="a setting of Spark, as often as wanted"
    )
    parser.add_argument("--master", default="local[*]")
    parser.add_argument("--policy", default="EAGER", choices=["EAGER", "LAZY"])
    parser.add_argument("--driver-memory")
    args = parser.parse_args()

    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(args.master).appName("hudi-peer")
    settings = {
        "spark.jars": args.jar,
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        **({"spark.driver.memory": args.driver_memory} if args.driver_memory else {}),
        **(EXTENSION if args.operation in PROCEDURES else {}),
        **dict(setting.split("=", 1) for setting in args.conf),
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    context = session.sparkContext
    context.setLogLevel("ERROR")
    if args.operation in PROCEDURES:
        session.sql(f"CREATE TABLE judged USING hudi LOCATION 'file://{args.base}'")
        called = time.monotonic()
        named = "table => 'judged'"
        if args.operation in OF_LOGS:
            named += f", log_file_path_pattern => '{args.instant}', limit => 2147483647"
        rows = session.sql(f"CALL {args.operation}({named})").count()
        done = time.monotonic()
        context.stop()
        answer = {"start_s": round(called - start, 3), "call_s": round(done - called, 3), "rows": rows}
        print(json.dumps(answer), flush=True)
        return
    jvm: Any = context._jvm
    properties = jvm.java.util.Properties()
    properties.setProperty("hoodie.metadata.enable", "false")
    properties.setProperty("hoodie.cleaner.policy.failed.writes", args.policy)
    config = (
        jvm.org.apache.hudi.config.HoodieWriteConfig.newBuilder().withPath(args.base).withProperties(properties).build()
    )
    engine = jvm.org.apache.hudi.client.common.HoodieSparkEngineContext(context._jsc)
    client = jvm.org.apache.hudi.client.SparkRDDWriteClient(engine, config)
    called = time.monotonic()
    if args.operation == "savepoint":
        client.savepoint(args.instant, "benchmark", "")
    elif args.operation == "restore":
        client.restoreToSavepoint(args.instant)
    elif not client.rollback(args.instant):
        raise SystemExit(f"Hudi found no instant {args.instant} to roll back")
    done = time.monotonic()
    client.close()
    context.stop()
    print(json.dumps({"start_s": round(called - start, 3), "call_s": round(done - called, 3)}), flush=True)


if __name__ == "__main__":
    main()
