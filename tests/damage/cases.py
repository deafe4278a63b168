"""Every damaged table: each sample table, one file of each kind, each harm that it can take; and a choice of them."""

import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests import support
from tests.damage.harms import harms_of
from tests.formats import real_files

_TIMELINE = r"\.hoodie/(?:timeline/)?"
_INSTANT = r"\d+(?:_\d+)?\.(?P<state>[a-z.]+)"
_METADATA = r"\.hoodie/metadata/"
_DATA = r"(?!\.hoodie/)(?:.+/)?"
_KINDS = {
    "properties": r"\.hoodie/hoodie\.properties",
    "metafile": _DATA + r"\.hoodie_partition_metadata",
    "base": _DATA + r"[^./][^/]*\.parquet",
    "log": _DATA + r"\.[^/]+\.log\.\d+_[\d-]+",
    "cdc-log": _DATA + r"\.[^/]+\.log\.\d+_[\d-]+-cdc|" + _DATA + r"\.[^/]+\.log\.\d+_[\d-]+\.cdc",
    "instant": _TIMELINE + _INSTANT,
    "archive": r"\.hoodie/archived/\.commits_\.archive[^/]*|\.hoodie/timeline/history/[^/]+\.parquet",
    "archive-manifest": r"\.hoodie/timeline/history/manifest_\d+",
    "archive-version": r"\.hoodie/timeline/history/_version_",
    "metadata-properties": _METADATA + r"\.hoodie/hoodie\.properties",
    "metadata-metafile": _METADATA + r"files/\.hoodie_partition_metadata",
    "metadata-base": _METADATA + r"files/[^/]+\.hfile",
    "metadata-log": _METADATA + r"files/\.[^/]+\.log\.[^/]+",
    "metadata-index-base": _METADATA + r"(?!files/|\.hoodie/)[^/]+/[^/]+\.hfile",
    "metadata-index-log": _METADATA + r"(?!files/|\.hoodie/)[^/]+/\.[^/]+\.log\.[^/]+",
    "metadata-instant": _METADATA + _TIMELINE + _INSTANT,
    "metadata-archive": _METADATA + r"\.hoodie/(?:archived/\.commits_|timeline/history/[^/]+\.parquet)[^/]*",
    "index-definitions": r"\.hoodie/\.index_defs/index\.json",
    "hashing-metadata": r"\.hoodie/\.bucket_index/.+\.hashing_meta",
    "hashing-commit": r"\.hoodie/\.bucket_index/.+\.commit",
    "heartbeat": r"\.hoodie/\.heartbeat/\d+",
    "marker": r"\.hoodie/\.temp/.+\.marker\.[A-Z]+|\.hoodie/\.temp/\d+/MARKERS\d+",
    "marker-type": r"\.hoodie/\.temp/\d+/MARKERS\.type",
}
_JUDGED = (
    "mor_part",
    "cow_cleaned",
    "cow_savepoints",
    "cow_cluster",
    "mor_pending_compaction",
    "cow_record_index",
    "archived_beyond_savepoint",
    "resized",
    "later",
    "cow_cdc",
)
_OLDEST = ("base", "log")
"""Of these the oldest is harmed, too: readers need the newest alone."""


@dataclass(frozen=True)
class Case:
    """A table and what happens to one of its files."""

    version: str
    table: str
    kind: str
    harm: str
    path: str

    @property
    def words(self) -> str:
        return f"{self.version}-{self.table}-{self.kind}-{self.harm}"


def kinds(paths: Iterable[str]) -> dict[str, str]:
    """By kind the path of its newest file, of some also of the oldest. Instants are a kind for each state of each
    action."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in paths:
        for kind, pattern in _KINDS.items():
            if hit := re.fullmatch(pattern, path):
                state = hit.groupdict().get("state")
                found[kind.replace("instant", state) if state else kind].append(path)
                break
    newest = {kind: max(paths, key=_age) for kind, paths in found.items()}
    oldest = {f"{kind}-oldest": min(found[kind], key=_age) for kind in _OLDEST if len(found.get(kind, ())) > 1}
    return newest | {kind: path for kind, path in oldest.items() if path != newest[kind.removesuffix("-oldest")]}


def _age(path: str) -> tuple[str, int, str]:
    """By the last time in its name; logs by their numbers, too."""
    name = path.rpartition("/")[2]
    times = re.findall(r"\d{17}", name)
    number = re.search(r"(?:\.log\.|\.archive\.|manifest_)(\d+)", name)
    return times[-1] if times else "", int(number[1]) if number else 0, path


def of_table(version: str, table: str) -> Iterator[Case]:
    """All cases of a table."""
    bodies = files(version, table)
    for kind, path in sorted(kinds(bodies).items()):
        for harm in harms_of(bodies[path]):
            yield Case(version, table, kind, harm, path)


def files(version: str, table: str) -> Mapping[str, bytes]:
    """A sample's files by their paths in the table."""
    return real_files.files(version, table, support.archive(version, table).parent.parent)


@cache
def chosen(version: str, seed: int = 1) -> tuple[Case, ...]:
    """Each harm of each kind of file once, on tables by chance: each table in turns."""
    chance = random.Random(seed)
    by_harm: dict[tuple[str, str], list[Case]] = defaultdict(list)
    for table in support.every_name(version):
        for case in of_table(version, table):
            by_harm[case.kind, case.harm].append(case)
    used: Counter[str] = Counter()
    found = []
    # Those that few tables have come first: the others can go to any.
    for _, cases in sorted(by_harm.items(), key=lambda item: (len(item[1]), item[0])):
        fewest = min(used[case.table] for case in cases)
        case = chance.choice([case for case in cases if used[case.table] == fewest])
        used[case.table] += 1
        found.append(case)
    return tuple(sorted(found, key=lambda case: (case.table, case.kind, case.harm)))


@cache
def judged(version: str) -> tuple[Case, ...]:
    """Each harm of each kind of file once, on few tables: what the real Hudi does with a sound one is asked, too."""
    found: dict[tuple[str, str], Case] = {}
    for table in (name for name in _JUDGED if name in support.every_name(version)):
        for case in of_table(version, table):
            found.setdefault((case.kind, case.harm), case)
    return tuple(found.values())


def outcome_file(version: str) -> Path:
    """What the real Hudi did with the chosen ones: made by ``tests/interop/make_damages.py``."""
    return Path(__file__).parent / f"outcomes-{version}.json"


@cache
def outcomes(version: str) -> dict[str, Any]:
    """What is in it: ``sound`` by table, and ``cases``; nothing for a version that was not asked."""
    file = outcome_file(version)
    return dict(json.loads(file.read_text())) if file.exists() else {"sound": {}, "cases": []}
