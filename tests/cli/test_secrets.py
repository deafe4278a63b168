"""Secrets of an operator get neither into a table, nor into what is printed."""

import json
import logging
import shlex
import sys

import pytest

from hudictl.errors import StorageFailed
from hudictl.storage.local import LocalStorage
from tests.cli.conftest import Tell, Unpack
from tests.helpers import OWN, put

MARKERS = "20260101000000000"
HUSH = "hush-hush"
SETTINGS = {
    "--storage-option": ("secret", "key", "account_key", "endpoint_url"),
    "--conf": (
        *("spark.hadoop.fs.azure.account.key.acc", "spark.hadoop.fs.azure.sas.fixed.token.c.a", "spark.x.passwd"),
        *("spark.hadoop.fs.azure.sas.c.a", "spark.hadoop.fs.s3a.secret.key", "spark.x.credential", "spark.ssl.keyPass"),
        *("spark.private.key", "spark.driver.extraJavaOptions"),
    ),
    "--hoodie-conf": ("hoodie.write.lock.client.pwd", "hoodie.write.lock.zookeeper.password"),
}
HARMLESS = ("--conf=spark.executor.memory=4g", "--hoodie-conf", "hoodie.write.lock.provider=")
URI = f"http://ann:{HUSH}@store:8/t?delegation={HUSH}"
SHOWN = "http://***@store:8/t?delegation=***"


def test_records_of_a_table_keep_the_keys_and_harmless_values(
    unpack: Unpack, tell: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = unpack("v9", "cow_part")
    line = ["marker", "delete", MARKERS, "-t", str(copy.path), "--yes", *HARMLESS]
    for option, keys in SETTINGS.items():
        # Both ways to write them.
        line += [word for key in keys[1:] for word in (option, f"{key}={HUSH}")] + [f"{option}={keys[0]}={HUSH}"]
    put(copy.meta / ".temp" / MARKERS / "x.marker.CREATE")
    monkeypatch.setattr(sys, "argv", ["hudictl", *line])
    assert tell(*line).code == 0
    kept = {path: path.read_text() for path in (copy.path / OWN).rglob("*") if path.is_file()}
    (record,) = (body for path, body in kept.items() if path.parent.name == "operations")
    (claim,) = (body for path, body in kept.items() if path.name.startswith("claim-"))
    assert HUSH not in "".join(kept.values())
    for command in (json.loads(record)["attempts"][0]["command"], json.loads(claim)["command"]):
        words = shlex.split(command)
        assert set(HARMLESS) < set(words)
        for option, keys in SETTINGS.items():
            assert [key for key in keys[1:] if f"{key}=***" not in words] == []
            assert f"{option}={keys[0]}=***" in words


def fail(*_: object, **__: object) -> None:
    logging.getLogger("hudictl.storage").debug("asks %s", URI)
    raise StorageFailed(f"cannot connect with {URI}", hint=f"not with {URI}", uri=URI)


@pytest.mark.parametrize("output", ["text", "json"])
def test_uris_in_errors_lose_their_secrets(
    unpack: Unpack, tell: Tell, monkeypatch: pytest.MonkeyPatch, output: str
) -> None:
    copy = unpack("v9", "cow_part")
    here = ("--engine", "local", "-v", "-o", output)
    # In the middle of a change: its record has the error, too.
    monkeypatch.setattr("hudictl.ops.savepoint.execute.create_instant_file", fail)
    said = [tell("savepoint", "create", copy.commits[0], "-t", copy.path, *here, "--yes")]
    assert said[0].code == 15
    assert said[0].err.count(SHOWN) >= 3
    monkeypatch.setattr(LocalStorage, "read", fail)
    monkeypatch.setattr(LocalStorage, "list", fail)
    said += [tell("check", "-t", copy.path, "-t", copy.path.parent / "none", *here), tell("doctor", *here)]
    assert SHOWN in said[1].out
    assert HUSH not in "".join(entry.out + entry.err for entry in said)
    kept = "".join(path.read_text() for path in (copy.path / OWN).rglob("*.json"))
    assert SHOWN in kept
    assert HUSH not in kept


def test_a_secret_option_is_in_no_error(unpack: Unpack, tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver may quote it, also as an address has it; where the secret is, is told."""
    copy, token, place = unpack("v9", "cow_part"), "ya29.a/b+c==", "/run/keys/lake.json"

    def quote(*_: object, **__: object) -> None:
        raise StorageFailed(f"no answer to {token}, t=ya29.a%2Fb%2Bc%3D%3D with {place}")

    monkeypatch.setattr(LocalStorage, "read", quote)
    for option in ("account_key", "token"):
        said = tell("table", "show", "-t", copy.path, "--storage-option", f"{option}={token}")
        assert (said.code, said.out) == (15, "")
        assert "no answer to ***, t=*** with" in said.err
    said = tell("table", "show", "-t", copy.path, "--storage-option", f"token={place}")
    assert place in said.err


@pytest.mark.slow
@pytest.mark.parametrize("uri", [f"s3://ann:{HUSH}/x@bucket/t", f"https://ann:{HUSH}@h/t", f"hdfs://ann:{HUSH}@h/t"])
def test_a_password_in_the_uri_of_a_table_is_refused(tell: Tell, uri: str) -> None:
    """Records in the table have its URI, also those of Hudi."""
    for command in (("table", "show"), ("check",), ("doctor",)):
        said = tell(*command, "-t", uri)
        assert "has a user and a password" in said.out + said.err
        assert HUSH not in said.out + said.err
    assert tell("table", "show", "-t", uri).code == 2
