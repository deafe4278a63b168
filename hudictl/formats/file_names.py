"""Names of base and log files (log-format rules of Hudi 1.1 and 1.2, which accept all names that Hudi writes)."""

import re
from array import array
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from hudictl.errors import Unreadable

PARTITION_METAFILE = ".hoodie_partition_metadata"
METAFILE_EXTENSIONS = (".parquet", ".orc")
"""Of metafiles in the base file format (``hoodie.partition.metafile.use.base.format``), in the order in which Hudi
looks for them."""
BASE_FORMATS = {".parquet": "Parquet", ".orc": "ORC", ".hfile": "HFile", ".lance": "Lance"}
"""The formats of base files by their extension; Lance from Hudi 1.2.0 on."""
UUID_PATTERN = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
"""At the end of the names of files that are being written, Hudi's and hudictl's."""
WRITE_TOKEN = "1-0-1"
"""The write token of Hudi's logs that are not written by a task, for example by rollbacks (0.15.0)."""

# From 1.1 on, a file id of the record index may have the escaped path of a partition: record-index-2026%2D01-0000-0.
_EXTENSIONS = "|".join(map(re.escape, BASE_FORMATS))
_BASE_NAME = rf"([a-zA-Z0-9%-]+)_([a-zA-Z0-9-]+)_([0-9]+)(?:{_EXTENSIONS})"
_BASE = re.compile(rf"{_BASE_NAME}\Z")
_LOG = re.compile(r"\.([^._/]+)_([^./]*)\.log\.([0-9]+)(?:_(([0-9]+)-([0-9]+)-([0-9]+))(\.cdc)?)?\Z")
_PART_CHARACTERS = 1_000_000
_JOINED = re.compile(rf"(?:{_BASE_NAME}|[^/]+)(?=/|\Z)")


def no_utf_8(name: str) -> Unreadable:
    """The error where a name cannot stand in a record of Hudi's: those of local files are any bytes."""
    return Unreadable(f"{name} is no UTF-8, and cannot stand in a record of Hudi's", hint="give the file another name")


def base_path_in(path: str, partition: str) -> str:
    """The table's base path in the path of a data file; "" if it is a name alone, or not in this partition."""
    folder, tail = path.rpartition("/")[0], f"/{partition}" if partition else ""
    return folder.removesuffix(tail) if folder.endswith(tail) else ""


def data_path(partition: str, name: str) -> str:
    """The path of a partition's file below the base path; a table without partitions has one partition, ""."""
    return f"{partition}/{name}" if partition else name


class DataFile(NamedTuple):
    """A data file by its name alone.

    ``instant`` is the writer's, except in logs of table versions below 8: there it is the base instant of the slice.
    ``version`` is 0 for a base file; ``cdc`` marks change logs, which are no part of the table's state.
    """

    name: str
    file_id: str
    instant: str
    version: int = 0
    write_token: str = ""
    cdc: bool = False

    @property
    def is_base(self) -> bool:
        return self.version == 0

    @property
    def log_order(self) -> tuple[str, int, str, bool]:
        """The order in which Hudi reads the logs of a slice."""
        return self.instant, self.version, self.write_token, self.cdc


def parse_data_file(name: str) -> DataFile | None:
    """Parses a base or log file's name; None for anything else (sidecars and metafiles among them)."""
    match = _BASE.match(name)
    if match is not None:
        return DataFile(name, match[1], match[3], 0, match[2])
    if not name.startswith("."):
        return None
    match = _LOG.match(name)
    if match is None or int(match[3]) == 0:
        return None
    return DataFile(name, match[1], match[2], int(match[3]), match[4] or "", match[8] is not None)


def read_as(name: str) -> str | None:
    """What Hudi's readers take for the instant in the name of any file with the extension of base files: behind the
    second underscore, if no third one comes before a dot; else all behind the last one. None: no underscore, at which
    they fail (0.15.0 to 1.2.0)."""
    _, *behind = name.split("_", 2)
    if not behind:
        return None
    third, dot, _ = behind[-1].partition(".")
    return third if len(behind) > 1 and dot and "_" not in third else name.rpartition("_")[2]


def base_format(name: str) -> str:
    """The format of a base file by its name or path, as "Lance"; "" if it is unknown."""
    return next((form for extension, form in BASE_FORMATS.items() if name.endswith(extension)), "")


def parse_joined(names: str) -> Iterator[re.Match[str]]:
    """A match for each of some names that are joined by slashes: its groups 1 and 3 are the file id and the instant of
    a base file, as in ``parse_data_file``, and None for anything else. For very many names: it makes no objects."""
    return _JOINED.finditer(names)


def joined_parts(names: str) -> Iterator[str]:
    """Joined names, sorted, in parts of some thousand: no file group is cut in two, as no file id has an underscore."""
    start = 0
    while start < len(names):
        end = names.find("/", start + _PART_CHARACTERS)
        last = names[max(start, names.rfind("/", start, end) + 1) : end].partition("_")[0]
        while end >= 0 and names.startswith(f"{last}_", end + 1):
            end = names.find("/", end + 1)
        yield names[start : end if end >= 0 else None]
        start = end + 1 if end >= 0 else len(names)


def base_parts(names: str) -> list[tuple[str, str, str]]:
    """File id, write token and instant of each of some joined names; all "" for what is no base file."""
    return _JOINED.findall(names)


def split_names(names: str) -> list[str]:
    """The names that are joined by slashes: no store has a name with a slash."""
    return names.split("/") if names else []


def with_sizes(names: str, sizes: bytes) -> Iterator[tuple[str, int]]:
    """Joined names, each with its size in bytes; the reverse of ``join_sizes``."""
    return zip(split_names(names), array("q", sizes), strict=True)


def join_sizes(files: Mapping[str, int]) -> tuple[str, bytes]:
    """Names and their sizes in few objects: joined by slashes, and 64 bits each."""
    return "/".join(files), array("q", files.values()).tobytes()


def log_file_name(file_id: str, instant: str, version: int, write_token: str, *, cdc: bool = False) -> str:
    """The name of a log file."""
    return f".{file_id}_{instant}.log.{version}_{write_token}{'.cdc' if cdc else ''}"


def next_log_name(names: Iterable[str], file_id: str, instant: str, write_token: str, *, cdc: bool = False) -> str:
    """The name of the next log file of a slice: one version above the highest there is, whatever its write token.

    Args:
        names: what is in the partition; other files do not matter. Change logs are counted by themselves: both begin
            at version 1.
    """
    files = (parsed for name in names if (parsed := parse_data_file(name)) is not None and not parsed.is_base)
    same = (file.version for file in files if (file.file_id, file.instant, file.cdc) == (file_id, instant, cdc))
    return log_file_name(file_id, instant, max(same, default=0) + 1, write_token, cdc=cdc)
