"""A SparkContext that is active in the process: the engine works in it, and leaves it as it was."""

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from hudictl.engine.base import Engine
from hudictl.engine.open import open_engine
from hudictl.errors import Unsupported, UsageError
from tests.engine.contract import EngineContract

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(shutil.which("java") is None and not os.environ.get("JAVA_HOME"), reason="Spark needs a Java"),
]


@pytest.fixture(scope="module")
def notebook() -> Iterator[Any]:
    """What a notebook has: a session by its builder, with a setting of its own."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.notebook", "mine").getOrCreate()
    yield session
    session.stop()


class TestBorrowed(EngineContract):
    """The contract in a context of others."""

    @pytest.fixture
    def engine(self, notebook: Any) -> Iterator[Engine]:  # type: ignore[override]
        engine = open_engine("spark")
        yield engine
        engine.close()


def test_it_goes_on_as_it_was(notebook: Any) -> None:
    context = notebook.sparkContext
    kept = {name: vars(context)[name] for name in ("serializer", "pythonExec", "_batchSize")}
    for settings in ({}, {"spark.notebook": "mine", "spark.master": "local[2]"}):
        engine = open_engine("spark", conf=settings)
        assert [result.value for result in engine.map("abs", abs, [-1, -2])] == [1, 2]
        engine.close()
    assert {name: vars(context)[name] for name in kept} == kept
    assert context.getLocalProperty("spark.jobGroup.id") is None
    assert context.parallelize(range(4)).map(str).collect() == ["0", "1", "2", "3"]
    assert notebook.range(3).count() == 3


def test_other_settings_are_refused(notebook: Any) -> None:
    """The value is not shown: it may be a secret."""
    for master, conf, named in (
        ("local[4]", {}, "spark.master"),
        (None, {"spark.notebook": "hush"}, "spark.notebook"),
        (None, {"spark.hadoop.fs.s3a.secret.key": "hush"}, "spark.hadoop.fs.s3a.secret.key"),
    ):
        engine = open_engine("spark", master, conf)
        with pytest.raises(UsageError, match=f"runs in this process already, with another {named}$") as caught:
            engine.map("abs", abs, [-1])
        engine.close()
        assert "hush" not in f"{caught.value}{caught.value.hint}"
    assert notebook.range(3).count() == 3


def test_a_cluster_is_refused_for_files_of_this_host(notebook: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notebook.sparkContext, "master", "spark://elsewhere:7077")
    engine = open_engine("spark", one_jvm=True)
    with pytest.raises(Unsupported, match=r"spark://elsewhere:7077, but other hosts do not see"):
        engine.map("abs", abs, [-1])
    engine.close()
