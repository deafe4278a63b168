"""``hudictl doctor``: one line for each thing that is needed; it writes nothing that stays."""

import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hudictl.engine.local import LocalEngine
from hudictl.errors import EngineFailed, StorageFailed
from hudictl.storage.local import LocalStorage
from tests import support
from tests.cli.conftest import Said, Tell, Unpack
from tests.cli.profiles_support import LOCK, Write, locking, profile, write
from tests.helpers import Copy, put, tree
from tests.s3 import S3

__all__ = ["write"]

LOCAL = ("--engine", "local")


@pytest.fixture
def copy(unpack: Unpack) -> Copy:
    return unpack("v9", "cow_savepoints")


def outcomes(said: Said) -> dict[str, tuple[str, str]]:
    """Outcome and text, by check; the exit code fits them."""
    found = {row["check"]: (row["outcome"], row["text"]) for row in said.json["rows"]}
    assert said.code == (3 if any(outcome != "ok" for outcome, _ in found.values()) else 0), found
    return found


def test_a_good_table_leaves_nothing_to_do_and_nothing_behind(copy: Copy, tell: Tell) -> None:
    before = tree(copy.path)
    found = outcomes(tell("doctor", "-t", copy.path, "-o", "json", *LOCAL))
    assert {outcome for outcome, _ in found.values()} == {"ok"}
    expected = {"python", "pyspark", "java", "config", "credentials", "store", "listing", "create", "clock", "table"}
    assert expected | {
        "lock",
        "s3fs",
        "gcsfs",
        "adlfs",
        "requests",
        "requests-gssapi",
        "kazoo",
        "boto3",
        "thriftpy2",
    } == set(found)
    assert found["table"][1].startswith("cow_savepoints: version 9, COPY_ON_WRITE")
    assert found["lock"][1] == "No lock is taken: none is configured."
    assert tree(copy.path) == before


def test_without_a_table_nothing_is_created(tell: Tell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    found = outcomes(tell("doctor", "-o", "json", *LOCAL))
    assert "listing" not in found
    assert list(tmp_path.iterdir()) == []


def test_a_path_without_table_gets_no_folder(tell: Tell, tmp_path: Path) -> None:
    said = tell("doctor", "-t", tmp_path, "-o", "json", *LOCAL)
    found = outcomes(said)
    assert found["listing"] == ("missing", f"file://{tmp_path} has no folder .hoodie")
    assert "create" not in found
    assert "1 finding: listing" in said.err
    assert list(tmp_path.iterdir()) == []


def test_a_check_that_fails_does_not_stop_the_others(copy: Copy, tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> Any:
        raise StorageFailed("cannot create x: read-only file system", hint="mount it for writing")

    def breaks(*_: object) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(LocalStorage, "create", fails)
    monkeypatch.setattr("hudictl.reports.doctor.table.measure_clock", breaks)
    before = tree(copy.path)
    said = tell("doctor", "-t", copy.path, "-o", "json", *LOCAL)
    found = outcomes(said)
    assert found["create"] == ("missing", "cannot create x: read-only file system")
    assert found["clock"] == ("missing", "ZeroDivisionError: no message")
    assert found["table"][0] == "ok"
    assert "mount it for writing" in {row["advice"] for row in said.json["rows"]}
    assert tree(copy.path) == before


def test_a_clock_that_differs_is_a_warning(copy: Copy, tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() - 60)
    outcome, text = outcomes(tell("doctor", "-t", copy.path, "-o", "json", *LOCAL))["clock"]
    assert outcome == "warning"
    assert "ahead of this host's" in text


def test_a_store_that_creates_twice_is_a_warning(copy: Copy, tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LocalStorage, "create", LocalStorage.replace)
    assert outcomes(tell("doctor", "-t", copy.path, "-o", "json", *LOCAL))["create"][0] == "warning"


def test_a_zone_that_is_not_the_writers_is_told(copy: Copy, tell: Tell) -> None:
    """Every change is refused in it."""
    tokyo = ("--timezone", "Asia/Tokyo")
    outcome, text = outcomes(tell("doctor", "-t", copy.path, "-o", "json", *LOCAL, *tokyo))["table"]
    assert (outcome, "9 h ahead of the writers' zone" in text) == ("missing", True)
    assert "--timezone to the zone of the table's writers (UTC+00:00)" in tell("doctor", "-t", copy.path, *tokyo).out
    refused = tell("savepoint", "create", "-t", copy.path, *LOCAL, *tokyo, "--idle", "0s", "--yes")
    assert (refused.code, text.removeprefix("every change is refused: ") in refused.err) == (13, True)


def test_a_driver_that_the_table_needs_is_missing(tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hudictl.reports.doctor.host.release", lambda package: "")
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    monkeypatch.setitem(sys.modules, "gcsfs.core", None)
    monkeypatch.delitem(sys.modules, "hudictl.storage.gcs_driver", raising=False)
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    said = tell("doctor", "-t", "gs://lake/t", "-o", "json", *LOCAL)
    found = outcomes(said)
    assert found["gcsfs"] == ("missing", "not installed, but needed for Google Cloud Storage")
    assert found["adlfs"] == ("ok", "not installed: only needed for Azure Blob Storage")
    assert "pip install gcsfs" in {row["advice"] for row in said.json["rows"]}
    assert found["store"][0] == "missing"


@pytest.mark.slow
def test_the_lock_of_the_profile_says_what_it_needs(
    write: Write, copy: Copy, tell: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(profile(copy, locking()))
    found = outcomes(tell("doctor", "-t", "trips", "-o", "json", *LOCAL))
    assert found["lock"][1].startswith("hudictl takes the lock file://")
    assert found["lock"][1].endswith(f"Lock settings: from the profile trips ({file}).")
    assert found["config"] == ("ok", f"1 profile in {file}")
    monkeypatch.setattr("hudictl.reports.doctor.host.release", lambda package: "")
    zookeeper = "hoodie.write.lock.provider=org.apache.hudi.client.transaction.lock.ZookeeperBasedLockProvider"
    places = [
        f"hoodie.write.lock.zookeeper.{key}"
        for key in ("url=h:1", "base_path=/locks", "lock_key=t", "connection_timeout_ms=100")
    ]
    given = [part for pair in (zookeeper, *places) for part in ("--hoodie-conf", pair)]
    assert outcomes(tell("doctor", "-t", "trips", "-o", "json", *LOCAL, *given))["kazoo"][0] == "missing"
    unknown = ("--hoodie-conf", "hoodie.write.lock.provider=x.Unknown")
    assert outcomes(tell("doctor", "-t", "trips", "-o", "json", *LOCAL, *unknown))["lock"][0] == "missing"


def test_a_lock_that_is_held_is_a_warning(copy: Copy, tell: Tell) -> None:
    put(copy.meta / "lock", "", old=False)
    outcome, text = outcomes(tell("doctor", "-t", copy.path, "-o", "json", *LOCAL))["lock"]
    assert (outcome, text.startswith("no lock is configured, but .hoodie/lock")) == ("warning", True)
    provider = ("--hoodie-conf", f"hoodie.write.lock.provider={LOCK}")
    assert outcomes(tell("doctor", "-t", copy.path, "-o", "json", *LOCAL, *provider))["lock"][0] == "warning"


def test_a_configuration_file_that_is_wrong_is_reported(write: Write, copy: Copy, tell: Tell) -> None:
    write("[profiles.t]\nurl = 'x'")
    outcome, text = outcomes(tell("doctor", "-t", copy.path, "-o", "json", *LOCAL))["config"]
    assert (outcome, "unknown key url" in text) == ("missing", True)


@pytest.mark.usefixtures("default_engine")
def test_spark_is_started_once_unless_it_is_not_wanted(tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []

    def open_it(name: str, *_: object, **__: object) -> LocalEngine:
        started.append(name)
        return LocalEngine()

    monkeypatch.setattr("hudictl.engine.open.open_engine", open_it)
    outcome, text = outcomes(tell("doctor", "-o", "json"))["spark"]
    assert (outcome, text.startswith("started, and did its first job in ")) == ("ok", True)
    assert started == ["spark"]
    assert "spark" not in outcomes(tell("doctor", "-o", "json", "--no-spark"))
    assert "spark" not in outcomes(tell("doctor", "-o", "json", *LOCAL))
    assert started == ["spark"]


@pytest.mark.usefixtures("default_engine")
def test_java_that_is_missing_matters_to_spark_alone(tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_: str) -> str | None:
        raise EngineFailed("the Spark engine cannot start: there is no Java", hint="install Java 17")

    monkeypatch.setattr("hudictl.reports.doctor.host.java_home", none)
    found = outcomes(tell("doctor", "-o", "json", "--no-spark"))
    assert found["java"] == ("missing", "the Spark engine cannot start: there is no Java")
    assert outcomes(tell("doctor", "-o", "json", *LOCAL))["java"][0] == "ok"


@pytest.mark.slow
def test_a_table_on_s3_leaves_no_object(s3: S3, tell: Tell, tmp_path: Path) -> None:
    uri = s3.upload(support.unpack("v9", "cow_savepoints", tmp_path), "doctor")
    before = s3.names("doctor")
    found = outcomes(tell("doctor", "-t", uri, *s3.arguments, "-o", "json", *LOCAL))
    assert s3.names("doctor") == before
    said = f"storage options key and secret; region us-east-1; endpoint {s3.endpoint}"
    assert found["credentials"] == ("ok", said)
    assert {found[check][0] for check in ("store", "listing", "create", "clock", "table", "lock")} == {"ok"}


def test_text_has_a_line_for_each_check(tell: Tell) -> None:
    lines = tell("doctor", *LOCAL).out.splitlines()
    assert lines[0].split() == ["check", "outcome", "text"]
    assert lines[1].split()[:3] == ["python", "ok", "Python"]


@pytest.mark.cluster
@pytest.mark.usefixtures("default_engine")
def test_the_real_spark(tell: Tell) -> None:
    outcome, _ = outcomes(tell("doctor", "-o", "json", "--master", "local[1]"))["spark"]
    assert outcome == "ok"
