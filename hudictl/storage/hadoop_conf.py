"""Where an HDFS is reached over HTTP: from its URI, and from the files in ``HADOOP_CONF_DIR``."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hudictl.errors import StorageFailed, UsageError

ADDRESS_OPTION = "http_address"
_PORTS = {"http": "9870", "https": "9871"}
"""Of name nodes since Hadoop 3."""
_FILES = ("core-site.xml", "hdfs-site.xml")
HIVE_SITE = "hive-site.xml"
_REFERENCE = re.compile(r"\$\{([^${}\s]+)\}")
_DEEPEST = 20
"""References within references, as in Hadoop."""


@dataclass(frozen=True, slots=True)
class HdfsPath:
    """A path of a file system, and the URI of its top; ``addresses`` are those of its name nodes, or of HttpFS, as
    ``http://host:port``."""

    top: str
    path: str
    addresses: tuple[str, ...]


def read_configuration(names: Sequence[str] = _FILES) -> dict[str, str]:
    """Hadoop's settings; empty without ``HADOOP_CONF_DIR``. Raises StorageFailed: a file cannot be read."""
    folder = os.environ.get("HADOOP_CONF_DIR", "")
    settings: dict[str, str] = {}
    for name in names if folder else ():
        settings.update(_properties(os.path.join(folder, name)))
    return {key: _resolved(value, settings) for key, value in settings.items()}


def asks_kerberos(options: Mapping[str, str]) -> bool:
    """Whether an HDFS asks for a ticket. Raises StorageFailed: Hadoop's settings cannot be read."""
    asked = options.get("kerberos", "").lower()
    return asked == "true" if asked else read_configuration().get("hadoop.security.authentication") == "kerberos"


def place_of(uri: str, settings: Mapping[str, str], asked: str = "") -> HdfsPath:
    """The place of a URI of ``hdfs:``, ``webhdfs:`` or ``swebhdfs:``.

    Args:
        settings: Hadoop's, as from ``read_configuration``.
        asked: addresses from the user, separated by commas, instead of those in the settings.

    Raises:
        UsageError: the URI or the settings name no host.
    """
    scheme, _, rest = uri.partition(":")
    if scheme == "hdfs" and (not rest.startswith("//") or rest.startswith("///")):
        default = settings.get("fs.defaultFS", "")
        if not default.startswith("hdfs://"):
            raise UsageError(
                f"{uri}: the URI names no name node, and Hadoop's settings have no fs.defaultFS on HDFS",
                hint="write hdfs://HOST:PORT/path, or set HADOOP_CONF_DIR to the folder of core-site.xml",
                uri=uri,
            )
        rest = default.removeprefix("hdfs:").rstrip("/") + "/" + rest.lstrip("/")
    authority, _, path = rest.removeprefix("//").partition("/")
    if not authority:
        raise UsageError(f"{uri}: the URI names no host", hint=f"write {scheme}://HOST:PORT/path", uri=uri)
    secure = scheme == "swebhdfs" or settings.get("dfs.http.policy") == "HTTPS_ONLY"
    protocol = "https" if secure and scheme != "webhdfs" else "http"
    named = asked.split(",") if asked else _addresses(authority, scheme, protocol, settings)
    found = (address.strip() for address in named)
    addresses = tuple(address if "://" in address else f"{protocol}://{address}" for address in found)
    return HdfsPath(f"{scheme}://{authority}", f"/{path}".rstrip("/"), addresses)


def _addresses(authority: str, scheme: str, protocol: str, settings: Mapping[str, str]) -> Iterator[str]:
    """host:port of each name node."""
    key = f"dfs.namenode.{protocol}-address"
    services = [name.strip() for name in settings.get("dfs.nameservices", "").split(",")]
    if authority in services:
        nodes = [name.strip() for name in settings.get(f"dfs.ha.namenodes.{authority}", "").split(",")]
        for suffix in (f".{authority}.{node}" if node else f".{authority}" for node in nodes):
            address = settings.get(key + suffix, "")
            if not address:
                raise UsageError(
                    f"{authority}: hdfs-site.xml has no {key}{suffix}",
                    hint=f"add it, or use --storage-option {ADDRESS_OPTION}=HOST:PORT,HOST:PORT",
                )
            yield address
        return
    host, _, port = authority.partition(":")
    if scheme != "hdfs":
        yield f"{host}:{port or _PORTS[protocol]}"
        return
    # The port in the URI is that of Hadoop's own protocol.
    own = settings.get("fs.defaultFS", "").rstrip("/") == f"hdfs://{authority}"
    named, _, port = settings.get(key, "").partition(":") if own else ("", "", "")
    yield f"{host if named in ('', '0.0.0.0') else named}:{port or _PORTS[protocol]}"


def _properties(path: str) -> Iterator[tuple[str, str]]:
    import xml.etree.ElementTree as ElementTree

    try:
        root = ElementTree.parse(path).getroot()
    except FileNotFoundError:
        return
    except (OSError, ElementTree.ParseError) as error:
        raise StorageFailed(f"cannot read {path}: {error}", hint="correct HADOOP_CONF_DIR", path=path) from error
    for entry in root.iter("property"):
        name, value = entry.findtext("name"), entry.findtext("value")
        if name and value is not None:
            yield name.strip(), value.strip()


def _resolved(value: str, settings: Mapping[str, str]) -> str:
    """A value with other settings, or variables of the environment, in the place of ``${...}``."""

    def replacement(match: "re.Match[str]") -> str:
        name = match[1]
        if name.startswith("env."):
            return os.environ.get(name.removeprefix("env."), match[0])
        return settings.get(name, match[0])

    for _ in range(_DEEPEST):
        value, before = _REFERENCE.sub(replacement, value), value
        if value == before:
            break
    return value
