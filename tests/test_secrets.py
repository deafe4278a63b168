"""Which settings are secret, and what is left of a text with secrets."""

import json

import pytest

from hudictl.errors import Refused
from hudictl.secrets import has_password, hide_in_errors, is_harmless, looks_secret, masked, without

SECRET = (
    *("secret", "key", "token", "account_key", "sas_token", "connection_string", "client_secret", "credential"),
    *("client_kwargs.aws_secret_access_key", "aws_access_key_id", "spark.executorEnv.AWS_SECRET_ACCESS_KEY"),
    *(
        "spark.hadoop.fs.azure.account.key.acc.dfs.core.windows.net",
        "spark.hadoop.fs.azure.account.oauth2.client.secret",
    ),
    *("fs.azure.sas.fixed.token.c.acc", "fs.azure.sas.c.acc", "spark.hadoop.fs.s3a.access.key", "fs.s3a.secret.key"),
    *(
        "fs.s3a.session.token",
        "fs.s3a.server-side-encryption.key",
        "spark.hadoop.fs.gs.auth.service.account.private.key",
    ),
    *(
        "spark.x.passwd",
        "spark.ssl.keyPass",
        "spark.ssl.keyPassword",
        "spark.ssl.trustStorePassword",
        "spark.x.credential",
    ),
    *("spark.authenticate.secret", "spark.private.key", "hoodie.write.lock.client.pwd", "javax.jdo.ConnectionPassword"),
    *("hoodie.write.lock.zookeeper.password", "fs.oss.accessKeySecret", "fs.x.PassPhrase", "http.Authorization"),
)
PUBLIC = (
    *("spark.kerberos.keytab", "hoodie.write.lock.zookeeper.lock_key", "hoodie.write.lock.dynamodb.partition_key"),
    *("hoodie.datasource.write.recordkey.field", "spark.sasl.enabled", "spark.x.bypassCache", "client_kwargs", "user"),
)
HARMLESS = (
    *("spark.master", "spark.executor.memory", "spark.default.parallelism", "spark.dynamicAllocation.maxExecutors"),
    *("spark.hadoop.fs.s3a.endpoint.region", "hoodie.write.lock.provider", "hoodie.write.lock.zookeeper.lock_key"),
    *("hoodie.write.concurrency.mode", "anon", "region"),
)


@pytest.mark.parametrize("key", SECRET)
def test_a_secret_is_known_by_its_key(key: str) -> None:
    assert looks_secret(key)
    assert not is_harmless(key)


@pytest.mark.parametrize("key", [*PUBLIC, *HARMLESS])
def test_what_only_sounds_like_a_secret(key: str) -> None:
    assert not looks_secret(key)


def test_harmless_is_what_is_known_to_be_so() -> None:
    assert [key for key in HARMLESS if not is_harmless(key)] == []
    unknown = ("spark.driver.extraJavaOptions", "client_kwargs", "endpoint_url", "spark.x", "spark.master.x", "x.anon")
    assert [key for key in (*unknown, "anon\n") if is_harmless(key)] == []


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("no s3://AKIA:a/b+c@bucket/t there", "no s3://***@bucket/t there"),
        ('"http://u:hush@h","http://:p@w@h/x"', '"http://***@h","http://***@h/x"'),
        ("http://a:b@h http://c@h", "http://***@h http://c@h"),
        ("/webhdfs/v1/t?op=OPEN&delegation=HAAF_x&offset=1", "/webhdfs/v1/t?op=OPEN&delegation=***&offset=1"),
        ("/tokeninfo?access_token=ya29.a (Caused by x)", "/tokeninfo?access_token=*** (Caused by x)"),
        ("https://h/c?sig=a%2F&X-Amz-Signature=0f&x=1", "https://h/c?sig=***&X-Amz-Signature=***&x=1"),
    ],
)
def test_secrets_of_uris_are_masked(text: str, left: str) -> None:
    assert masked(text) == left
    assert has_password(text) == (":" in text and "@" in text)
    # Data may have such URIs.
    assert without(text, []) == text


@pytest.mark.parametrize(
    "text",
    [
        *("hdfs://nn:8020/mail/a@b", "hdfs://nn1:8020,nn2:8020/a@b", "hdfs://[::1]:8020/a@b", "abfs://c@acc.dfs/t"),
        *("file:///a:b@c", "s3://bucket/a:b@c", "a:b@c", "host:9083 a@b", "design=1 sig=2"),
    ],
)
def test_ports_and_paths_are_no_passwords(text: str) -> None:
    assert masked(text) == text
    assert not has_password(text)


def test_secrets_are_masked_in_texts_and_in_json() -> None:
    secret = 'hush"hush\\'
    assert masked(f"cannot use {secret}", [secret]) == "cannot use ***"
    assert json.loads(masked(json.dumps({"error": f"no {secret}"}), [secret])) == {"error": "no ***"}
    assert masked("?a=a%2Fb%2Bc%3D&b=a/b%2Bc%3D", ["a/b+c="]) == "?a=***&b=***"
    assert masked("the longer secret goes first", ["secret", "longer secret"]) == "the *** goes first"


def test_what_is_no_text_or_no_secret_is_not_searched_for() -> None:
    """A program may give what it likes; an error that cannot be made would be no error of hudictl's."""
    given = {"account_key": None, "token": {"a": "b"}, "x.password": 12345678, "credentials.provider": "SimpleProvider"}
    hide_in_errors(given)  # type: ignore[arg-type]
    assert str(Refused("no SimpleProvider 12345678")) == "no SimpleProvider 12345678"


def test_a_short_secret_is_a_part_of_other_words() -> None:
    assert masked("a table", ["a", "tab"]) == "a table"
