"""Which credentials a store's driver would find. Never what they are."""

import json
from pathlib import Path

import pytest

from hudictl.storage.base import Credentials
from hudictl.storage.hadoop_conf import asks_kerberos
from hudictl.storage.open import find_credentials

HUSH = "hush-hush"


@pytest.fixture(autouse=True)
def _nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No credentials of whoever runs the tests, and no network."""
    import os

    for name in os.environ:
        if name.startswith(("AWS_", "AZURE_", "GOOGLE_", "HADOOP_", "STORAGE_", "CLOUDSDK_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("NO_GCE_CHECK", "true")


def found(uri: str, **options: str) -> Credentials:
    credentials = find_credentials(uri, options)
    assert credentials is not None
    assert HUSH not in repr(credentials)
    return credentials


def test_s3(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("botocore")
    nothing = found("s3a://lake/t")
    assert (nothing.source, nothing.facts) == ("", ("region not set",))
    assert "AWS_PROFILE" in nothing.advice
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws/credentials").write_text(
        f"[default]\naws_access_key_id = a\naws_secret_access_key = {HUSH}\n"
        f"[other]\naws_access_key_id = a\naws_secret_access_key = {HUSH}\n"
    )
    (tmp_path / ".aws/config").write_text("[profile other]\nregion = eu-1\n")
    assert found("s3://lake/t").source == "the file ~/.aws/credentials, or AWS_SHARED_CREDENTIALS_FILE"
    assert found("s3://lake/t", profile="other").facts == ("region eu-1",)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", HUSH)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", HUSH)
    monkeypatch.setenv("AWS_REGION", "eu-2")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-2")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://localhost:9000")
    assert found("s3n://lake/t") == Credentials(
        "the variables AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
        ("region eu-2", "endpoint http://localhost:9000"),
    )
    given = found("s3://lake/t", key=HUSH, secret=HUSH, endpoint_url="http://other")
    assert given == Credentials("storage options key and secret", ("region eu-2", "endpoint http://other"))
    assert found("s3://lake/t", anon="true").source.startswith("none: anonymous")


def test_google(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("google.auth")
    nothing = found("gs://lake/t")
    assert (nothing.source, "gcloud auth" in nothing.advice) == ("", True)
    file = tmp_path / "user.json"
    user = {"type": "authorized_user", "client_id": "x", "client_secret": HUSH, "refresh_token": HUSH}
    file.write_text(json.dumps(user))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
    default = found("gcs://lake/t")
    assert default.source == "Google's default: credentials.Credentials (GOOGLE_APPLICATION_CREDENTIALS)"
    assert found("gs://lake/t", token=HUSH).source == "storage option token"
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "http://localhost:4443")
    assert found("gs://lake/t", token="anon") == Credentials(
        "none: anonymous (storage option token)", ("endpoint http://localhost:4443",)
    )


def test_azure(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = found("abfss://c@a.dfs.core.windows.net/t")
    assert (nothing.source, "AZURE_STORAGE_CONNECTION_STRING" in nothing.advice) == ("", True)
    assert found("az://c/t", anon="false").source.startswith("Azure's default")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "lake")
    monkeypatch.setenv("AZURE_STORAGE_SAS_TOKEN", HUSH)
    assert found("az://c/t") == Credentials("the variable AZURE_STORAGE_SAS_TOKEN", ("account lake",))
    assert found("az://c/t", account_key=HUSH).source == "storage option account_key"


@pytest.mark.slow
def test_hdfs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert found("hdfs://n/t") == Credentials("no Kerberos: the user's name", ("HADOOP_CONF_DIR is not set",))
    assert found("webhdfs://n/t", user="hudi").source == "no Kerberos: the user's name hudi"
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    (tmp_path / "core-site.xml").write_text(
        "<configuration><property><name>hadoop.security.authentication</name><value>kerberos</value></property>"
        "</configuration>"
    )
    assert asks_kerberos({})
    assert not asks_kerberos({"kerberos": "false"})
    pytest.importorskip("gssapi")
    monkeypatch.setenv("KRB5CCNAME", str(tmp_path / "none"))
    assert found("hdfs://n/t") == Credentials("", (f"HADOOP_CONF_DIR {tmp_path}",), "get a ticket with kinit")


@pytest.mark.parametrize("uri", ["/lake/t", "file:/lake/t", "memory://t"])
def test_no_other_store_is_known(uri: str) -> None:
    assert find_credentials(uri, {}) is None
