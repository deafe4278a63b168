"""Which credentials the driver of a store would find, and where: never what they are."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass

from hudictl.storage.hadoop_conf import read_configuration
from hudictl.storage.open import is_hdfs

S3 = ("s3", "s3a", "s3n")
GCS = ("gs", "gcs")
AZURE = ("abfs", "abfss", "az")
_AZURE_OPTIONS = ("connection_string", "account_key", "sas_token", "client_secret", "credential")
_AZURE_VARIABLES = (
    *("AZURE_STORAGE_CONNECTION_STRING", "AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_SAS_TOKEN"),
    *("AZURE_STORAGE_CLIENT_SECRET", "AZURE_CLIENT_SECRET", "AZURE_FEDERATED_TOKEN_FILE"),
)


@dataclass(frozen=True, slots=True)
class Credentials:
    """``source``: where they are; empty: there are none, and ``advice`` says what to do. ``facts``: as the region."""

    source: str
    facts: tuple[str, ...] = ()
    advice: str = ""


def find_credentials(uri: str, options: Mapping[str, str]) -> Credentials | None:
    """The credentials for a URI's store; None where it needs none, or which it needs is not known.

    Args:
        options: fsspec's, which win over the environment.

    Raises:
        ImportError: the driver's libraries are not installed. StorageFailed: Hadoop's settings cannot be read.
        Whatever these libraries raise.
    """
    scheme = uri.partition(":")[0]
    if scheme in S3:
        return _s3(options)
    if scheme in GCS:
        return _gcs(options)
    if scheme in AZURE:
        return _azure(options)
    return _hdfs(options) if is_hdfs(uri) else None


def asks_kerberos(options: Mapping[str, str]) -> bool:
    """Whether an HDFS asks for a ticket. Raises StorageFailed: Hadoop's settings cannot be read."""
    asked = options.get("kerberos", "").lower()
    return asked == "true" if asked else read_configuration().get("hadoop.security.authentication") == "kerberos"


def _s3(options: Mapping[str, str]) -> Credentials:
    import botocore.session

    session = botocore.session.Session(profile=options.get("profile"))
    client = _client_options(options)
    given = (options.get("endpoint_url"), client.get("endpoint_url"))
    variables = map(os.environ.get, ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"))
    endpoint = next(filter(None, (*given, *variables)), None)
    region = client.get("region_name") or session.get_config_variable("region")
    facts = (f"region {region or 'not set'}", *([f"endpoint {endpoint}"] if endpoint else []))
    if options.get("anon", "").lower() == "true":
        return Credentials("none: anonymous (storage option anon)", facts)
    if "key" in options and "secret" in options:
        return Credentials("storage options key and secret", facts)
    found = session.get_credentials()
    if found is None:
        return Credentials(
            "", facts, "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or an instance role"
        )
    return Credentials(_AWS.get(found.method, found.method), facts)


def _client_options(options: Mapping[str, str]) -> dict[str, str]:
    """s3fs' options for the client of botocore. What is no JSON, the store itself refuses."""
    try:
        return dict(json.loads(options.get("client_kwargs", "{}")))
    except (ValueError, TypeError):
        return {}


_AWS = {
    "env": "the variables AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    "shared-credentials-file": "the file ~/.aws/credentials, or AWS_SHARED_CREDENTIALS_FILE",
    "config-file": "the file ~/.aws/config, or AWS_CONFIG_FILE",
    "iam-role": "the role of this instance",
    "container-role": "the role of this container",
    "assume-role": "a role (assume-role)",
    "assume-role-with-web-identity": "a role by a web identity (AWS_WEB_IDENTITY_TOKEN_FILE)",
}
"""By botocore's methods."""


def _gcs(options: Mapping[str, str]) -> Credentials:
    emulator = options.get("endpoint_url") or os.environ.get("STORAGE_EMULATOR_HOST")
    facts = (f"endpoint {emulator}",) if emulator else ()
    token = options.get("token", "")
    if token == "anon":
        return Credentials("none: anonymous (storage option token)", facts)
    if token not in ("", "google_default"):
        return Credentials("storage option token", facts)
    import google.auth
    import google.auth.exceptions

    try:
        found, project = google.auth.default()
    except google.auth.exceptions.DefaultCredentialsError:
        return Credentials(
            "", facts, "run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS"
        )
    file = "GOOGLE_APPLICATION_CREDENTIALS"
    place = f" ({file})" if os.environ.get(file) else ""
    kind = f"{type(found).__module__.rpartition('.')[2]}.{type(found).__name__}"
    return Credentials(f"Google's default: {kind}{place}", (*facts, f"project {project or 'not set'}"))


def _azure(options: Mapping[str, str]) -> Credentials:
    account = options.get("account_name") or os.environ.get("AZURE_STORAGE_ACCOUNT_NAME")
    facts = (f"account {account}",) if account else ()
    for name in _AZURE_OPTIONS:
        if name in options:
            return Credentials(f"storage option {name}", facts)
    if options.get("anon", "").lower() == "true":
        return Credentials("none: anonymous (storage option anon)", facts)
    for name in _AZURE_VARIABLES:
        if os.environ.get(name):
            return Credentials(f"the variable {name}", facts)
    if options.get("anon", "").lower() == "false":
        return Credentials("Azure's default: a managed identity, or the login of az", facts)
    advice = "set AZURE_STORAGE_CONNECTION_STRING or AZURE_STORAGE_ACCOUNT_KEY, or the storage option anon=false"
    return Credentials("", facts, f"{advice} for a managed identity")


def _hdfs(options: Mapping[str, str]) -> Credentials:
    folder = os.environ.get("HADOOP_CONF_DIR", "")
    facts = (f"HADOOP_CONF_DIR {folder}" if folder else "HADOOP_CONF_DIR is not set",)
    if not asks_kerberos(options):
        user = options.get("user") or os.environ.get("HADOOP_USER_NAME")
        return Credentials(f"no Kerberos: the user's name{f' {user}' if user else ''}", facts)
    import gssapi
    from gssapi.raw.misc import GSSError

    try:
        found = gssapi.Credentials(usage="initiate")
        return Credentials(f"the ticket of {found.name}, valid for {int(found.lifetime) // 60} min", facts)
    except GSSError:
        return Credentials("", facts, "get a ticket with kinit")
