"""Where an HDFS is reached: its URI, Hadoop's settings, and the operator's own address."""

from pathlib import Path

import pytest

from hudictl.errors import StorageFailed, UsageError
from hudictl.storage.hadoop_conf import place_of, read_configuration

HA = {
    "fs.defaultFS": "hdfs://lake",
    "dfs.nameservices": "lake, other",
    "dfs.ha.namenodes.lake": "nn1, nn2",
    "dfs.namenode.http-address.lake.nn1": "one:9870",
    "dfs.namenode.http-address.lake.nn2": "two:50070",
    "dfs.namenode.https-address.lake.nn1": "one:9871",
    "dfs.namenode.https-address.lake.nn2": "two:9871",
    "dfs.namenode.http-address.other": "three:9870",
}
ONE = {"fs.defaultFS": "hdfs://node:8020", "dfs.namenode.http-address": "0.0.0.0:50070"}
SECURE = {"dfs.http.policy": "HTTPS_ONLY"}


@pytest.mark.parametrize(
    ("uri", "settings", "addresses"),
    [
        ("hdfs://lake/a/t", HA, ("http://one:9870", "http://two:50070")),
        ("hdfs://lake/a/t", HA | SECURE, ("https://one:9871", "https://two:9871")),
        ("webhdfs://lake/a/t", HA | SECURE, ("http://one:9870", "http://two:50070")),
        ("swebhdfs://lake/a/t", HA, ("https://one:9871", "https://two:9871")),
        ("hdfs://other/a/t", HA, ("http://three:9870",)),
        ("hdfs://node:8020/a/t", ONE, ("http://node:50070",)),
        ("hdfs://node:8020/a/t", ONE | {"dfs.namenode.http-address": "web:1"}, ("http://web:1",)),
        ("hdfs://node:8020/a/t", {}, ("http://node:9870",)),
        ("hdfs://node/a/t", SECURE, ("https://node:9871",)),
        ("hdfs://stranger:8020/a/t", ONE, ("http://stranger:9870",)),
        ("webhdfs://gate:14000/a/t", {}, ("http://gate:14000",)),
        ("webhdfs://gate/a/t", ONE, ("http://gate:9870",)),
        ("swebhdfs://gate/a/t/", {}, ("https://gate:9871",)),
    ],
)
def test_addresses(uri: str, settings: dict[str, str], addresses: tuple[str, ...]) -> None:
    """A name service's name nodes in the order of the settings; the port of hdfs: is not that of HTTP."""
    place = place_of(uri, settings)
    assert place.addresses == addresses
    assert f"{place.top}{place.path}" == uri.rstrip("/")
    assert place.path == "/a/t"


@pytest.mark.parametrize("uri", ["hdfs:/a/t", "hdfs:///a/t"])
def test_the_default_file_system(uri: str) -> None:
    """A URI without a host, as in Hadoop."""
    place = place_of(uri, HA)
    assert (place.top, place.path, len(place.addresses)) == ("hdfs://lake", "/a/t", 2)
    with pytest.raises(UsageError, match=r"fs\.defaultFS"):
        place_of(uri, {"fs.defaultFS": "s3a://bucket"})


def test_the_operators_own_addresses() -> None:
    """Instead of those in the settings, with or without the protocol."""
    place = place_of("hdfs://lake/t", HA, "a:1, https://b:2")
    assert place.addresses == ("http://a:1", "https://b:2")


@pytest.mark.parametrize("uri", ["webhdfs:///t", "swebhdfs:/t"])
def test_no_host(uri: str) -> None:
    with pytest.raises(UsageError, match="names no host"):
        place_of(uri, HA)


def test_a_name_service_without_an_address() -> None:
    with pytest.raises(UsageError, match=r"no dfs\.namenode\.http-address\.lake\.nn2"):
        place_of("hdfs://lake/t", {key: value for key, value in HA.items() if not value.startswith("two:5")})


def test_the_folder_of_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both files, the second over the first, with references to other settings and to the environment."""
    write(
        tmp_path / "core-site.xml", {"fs.defaultFS": "hdfs://${dfs.nameservices}", "a": "${env.PLACE}-${b}", "b": "1"}
    )
    write(tmp_path / "hdfs-site.xml", {"dfs.nameservices": " lake ", "b": "${b}", "c": "${unknown} ${env.NONE}"})
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    monkeypatch.setenv("PLACE", "here")
    monkeypatch.delenv("NONE", raising=False)
    found = read_configuration()
    assert (found["fs.defaultFS"], found["a"], found["b"]) == ("hdfs://lake", "here-${b}", "${b}")
    assert found["c"] == "${unknown} ${env.NONE}"


def test_no_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the variable, and in a folder without the files."""
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    assert read_configuration() == {}
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    assert read_configuration() == {}


def test_settings_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "core-site.xml").write_text("<configuration>")
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    with pytest.raises(StorageFailed, match=r"core-site\.xml"):
        read_configuration()


def write(path: Path, settings: dict[str, str]) -> None:
    entries = [f"<property><name>{key}</name><value>{value}</value></property>" for key, value in settings.items()]
    path.write_text(f"<?xml version='1.0'?><configuration>{''.join(entries)}</configuration>")
