"""What is secret: which settings, by their keys; and texts without secrets, for all that is printed or kept."""

import json
import os
import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote

_SECRET = re.compile(
    r"secret|pass(wd|w|phrase|$|[._-])|pwd|token|credential|authorization|connection[._-]?string"
    r"|(^|[._-])(sas|sig)([._-]|$)|(^|access|account|api|private|shared|encryption)[._-]?key|[.-]key$",
    re.IGNORECASE,
)
_HARMLESS = re.compile(
    r"spark\.(master|app\.name|default\.parallelism|cores\.max|sql\.shuffle\.partitions|submit\.deployMode)"
    r"|spark\.(driver|executor)\.(memory|cores|instances|host|port|bindAddress|maxResultSize)"
    r"|spark\.(dynamicAllocation|speculation)\.\w+|spark\.hadoop\.fs\.\w+\.endpoint\.region"
    r"|hoodie\.write\.(concurrency\.mode|lock\.(provider|wait_time_ms|(zookeeper|dynamodb|hivemetastore)\.\w+))"
    r"|anon|region|requester_pays"
)
_SHORTEST = 6
"""Characters of a secret that texts are searched for: a shorter one may be a part of any word."""
_USER = re.compile(r"://[^\s\"'/:@\[]*:(?!\d{1,5}(?:[/,?#\s\"']|$))(?:(?!://)[^\s\"'])*@")
"""A user with a password in a URI: a password may have a slash, and what begins like a port is none."""
_SIGNED = re.compile(r"([?&](?:delegation|access_token|sig|X-Amz-(?:Signature|Credential|Security-Token))=)[^&\s\"']+")
_SIGNS = ("delegation=", "access_token=", "sig=", "X-Amz-")
"""What gives its reader access, in a URI's query: tokens of HDFS and Google, signatures of Azure and S3."""
_PLACE = re.compile(r"(provider|path|file|class|type|enabled)s?$", re.IGNORECASE)
_PUBLIC = ("anon", "cache", "cloud", "browser", "google_default")
"""What gcsfs knows as a token besides a secret."""


_GIVEN: set[str] = set()
"""The secrets that stores and engines of this process got: a driver may quote them."""


def hide_in_errors(settings: Mapping[str, str], secrets: Iterable[str] = ()) -> None:
    """No error will show these secrets, nor those among the settings, by their keys."""
    for key, value in settings.items():
        # A program may give what is no text.
        if isinstance(value, str) and looks_secret(key) and not is_public(key, value):
            _GIVEN.add(value)
    _GIVEN.update(secrets)


def masked_error(text: str) -> str:
    """What an error says, without secrets."""
    return masked(text, _GIVEN)


def value_shown(key: str, value: str | None) -> str | None:
    """The value of a setting, without what may be a secret."""
    return value and ("***" if looks_secret(key) else masked(value))


def looks_secret(key: str) -> bool:
    """Whether the value of a setting is secret, by its key."""
    return bool(_SECRET.search(key))


def is_public(key: str, value: str) -> bool:
    """Whether a setting whose key looks secret says only where the secret is: gcsfs takes the path of a file, too."""
    return bool(_PLACE.search(key)) or (key == "token" and (value in _PUBLIC or os.path.isabs(value)))


def is_harmless(key: str) -> bool:
    """Whether the value of a setting may be kept in a table, where all its readers see it: only what is known to be
    harmless, for keys are as many as stores and plug-ins."""
    return bool(_HARMLESS.fullmatch(key)) and not looks_secret(key)


def has_password(uri: str) -> bool:
    """Whether a URI has a user with a password."""
    return bool(_USER.search(uri))


def masked(text: str, secrets: Iterable[str] = ()) -> str:
    """A text, or JSON, without these secrets, and without those in URIs: the driver of a store may put both into its
    errors."""
    text = _USER.sub("://***@", text)
    # Plans of large tables are a gigabyte: this is much faster than the search.
    if any(sign in text for sign in _SIGNS):
        text = _SIGNED.sub(r"\1***", text)
    return without(text, secrets)


def without(text: str, secrets: Iterable[str]) -> str:
    """A text, or JSON, without these secrets; data may have URIs of its own, which are left as they are."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= _SHORTEST:
            # Also as JSON and URLs have it.
            for form in {secret, json.dumps(secret)[1:-1], quote(secret), quote(secret, safe="")}:
                text = text.replace(form, "***")
    return text
