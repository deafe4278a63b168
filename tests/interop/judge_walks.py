"""What random walks ask of the judge beside all else: a part of ``judge_server.py``, so without hudictl, too."""

import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from judge_java import error_chain, uri
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

SLOW_MS = 2_500


def filtered(path: str, conditions: Iterable[str]) -> list[list[list[Any]]]:
    """What each condition finds of (id, ts, val), through the metadata table and the indexes that it has."""
    reader = SparkSession.active().read.format("hudi")
    found = (
        reader.option("hoodie.metadata.enable", "true").option("hoodie.enable.data.skipping", "true").load(uri(path))
    )
    return [sorted(list(row) for row in found.where(one).select("id", "ts", "val").collect()) for one in conditions]


def slow(data: DataFrame) -> DataFrame:
    """The same rows, of which one takes its time."""
    pause = (
        f"IF(row_number() OVER (ORDER BY id) = 1 AND reflect('java.lang.Thread', 'sleep', {SLOW_MS}L) = '', '', val)"
    )
    return data.selectExpr("id", "ts", f"{pause} AS val", *(f"`{name}`" for name in data.columns[3:]))


def beside(begin: Callable[[], Any], begun: Callable[[], bool], meanwhile: Callable[[], Any]) -> None:
    """Runs a slow write, and another one from when the first has begun."""
    errors: list[BaseException] = []

    def work() -> None:
        try:
            begin()
        except (Exception, Py4JJavaError) as error:
            errors.append(error)

    worker = threading.Thread(target=work)
    worker.start()
    while worker.is_alive() and not begun():
        time.sleep(0.05)
    try:
        meanwhile()
    finally:
        worker.join()
    if errors:
        raise RuntimeError("the slow writer: " + "; ".join(error_chain(errors[0])))
