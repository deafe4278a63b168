"""The real Hudi as a contender: a process that starts PySpark and calls Hudi's own write client.

Run by path, not as a module: it needs nothing but PySpark 3.5, so that it can have an interpreter of its own.
"""

import argparse
import json
import time
from typing import Any


def main() -> None:
    """Does one operation on one table and prints the seconds it took as a JSON line."""
    start = time.monotonic()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("operation", choices=["savepoint", "restore", "rollback"])
    parser.add_argument("base")
    parser.add_argument("instant")
    parser.add_argument("--jar", required=True)
    parser.add_argument("--master", default="local[*]")
    parser.add_argument("--policy", default="EAGER", choices=["EAGER", "LAZY"])
    args = parser.parse_args()

    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(args.master).appName("hudi-peer")
    settings = {
        "spark.jars": args.jar,
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    context = builder.getOrCreate().sparkContext
    context.setLogLevel("ERROR")
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
