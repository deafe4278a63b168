"""How the judge dies at a chosen change to a table: a part of ``judge_server.py``, so without hudictl, too."""

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from judge_java import hudi
from pyspark.sql import SparkSession

SOURCE = Path(__file__).with_name("DyingFileSystem.java")


def file_system() -> Any:
    """The JVM's local file system, replaced when this is first called: by one that can die, and that sets permissions
    without another process."""
    hadoop, settings = hudi().org.apache.hadoop, SparkSession.active()._jsc.hadoopConfiguration()
    local = hudi().java.net.URI("file:///")
    current = hadoop.fs.FileSystem.get(local, settings)
    if current.getClass().getName() == SOURCE.stem:
        return current
    compiler = hudi().org.codehaus.janino.SimpleCompiler()  # Spark's own
    compiler.cook(SOURCE.read_text())
    settings = hadoop.conf.Configuration(settings)
    settings.setClassLoader(compiler.getClassLoader())
    settings.set("fs.file.impl", SOURCE.stem)
    hadoop.fs.FileSystem.closeAll()  # the next one is kept and used by all
    return hadoop.fs.FileSystem.get(local, settings)


def die_at(path: str, events: Iterable[str], number: int, after: bool, halt: bool) -> None:
    """Nothing reaches the table any more from the number-th event on that the last pattern finds; see the Java."""
    file_system().arm(path, "\n".join(events), number, after, halt)


def revive(path: str) -> bool:
    """Ends it, once no task runs any more that would go on writing; whether it had died."""
    tracker = SparkSession.active()._jsc.sc().statusTracker()
    while any(executor.numRunningTasks() for executor in tracker.getExecutorInfos()):
        time.sleep(0.01)
    return bool(file_system().revive())


def changes_seen(path: str) -> list[str]:
    """The changes to the table since ``die_at``, in their order; without Hadoop's checksum files."""
    return [event for event in file_system().seen().splitlines() if not event.endswith(".crc")]
