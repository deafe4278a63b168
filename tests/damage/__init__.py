"""Ways in which a table breaks: each damages one thing, and returns the path, or the name, that it is about."""

import re
from collections.abc import Callable
from pathlib import Path

from hudictl.formats.file_names import parse_data_file
from tests.helpers import put

Damage = Callable[[Path], str]
"""Takes the base path of a table."""


def newest_base(base: Path) -> str:
    """The path of a base file of the newest instant that wrote one."""
    found = {path.relative_to(base).as_posix(): parse_data_file(path.name) for path in base.rglob("*.parquet")}
    times = {path: data.instant for path, data in found.items() if data and not path.startswith(".hoodie")}
    return max(times, key=lambda path: (times[path], path))


def second_base_file(base: Path) -> str:
    """As two tasks leave, or two writers with one instant; the other's write token is all that differs."""
    right = newest_base(base)
    group, _, rest = right.rsplit("_", 2)
    return copied(base, right, f"{group}_9-9-999_{rest}")


def unnamed_file(base: Path) -> str:
    """Another file group, by the name of a commit that does not know it."""
    like = newest_base(base)
    folder, _, name = like.rpartition("/")
    return copied(base, like, f"{folder}/ffffffff{name[8:]}".lstrip("/"))


def cut_file(base: Path) -> str:
    path = newest_base(base)
    put(base / path, (base / path).read_bytes()[:900])
    return path


def not_parquet(base: Path) -> str:
    """A file of the right size, and of nothing but zeros: as a copy that was allocated, and not written."""
    path = newest_base(base)
    put(base / path, bytes((base / path).stat().st_size))
    return path


def empty_commit(base: Path) -> str:
    """The newest completed commit; returns its file's name."""
    timeline = base / ".hoodie/timeline"
    files = (timeline if timeline.is_dir() else base / ".hoodie").iterdir()
    file = max(path for path in files if re.fullmatch(r"\d+(_\d+)?\.(delta|replace)?commit", path.name))
    return put(file).name


def metadata_table_version(base: Path, version: str | None = None) -> str:
    """A metadata table of another table version, which Hudi does not make of it by itself."""
    own = re.search(r"hoodie\.table\.version=(\d+)", (base / ".hoodie/hoodie.properties").read_text())
    other = version or {"6": "8", "8": "9"}.get(own[1] if own else "", "6")
    path = ".hoodie/metadata/.hoodie/hoodie.properties"
    text = (base / path).read_text()
    put(base / path, re.sub(r"hoodie\.table\.version=\d+", f"hoodie.table.version={other}", text))
    return path


def copied(base: Path, source: str, target: str) -> str:
    put(base / target, (base / source).read_bytes())
    return target
