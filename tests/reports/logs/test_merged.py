"""Columns that schema on read has given other names: records are merged by names."""

import json
from pathlib import Path

import pytest

from hudictl.errors import Unreadable, Unsupported
from tests import support
from tests.reports.logs.records_support import queried

COLUMNS = ("id", "ts", "val")


def write_history(base: Path, version: str, now: tuple[str, ...], *, completed: bool = True) -> Path:
    """The history of a table that had the columns before, and has others since its last write."""
    active = base / (".hoodie" if version == "v6" else ".hoodie/timeline")
    last = max(path.name for path in active.glob("*.deltacommit"))
    time = last.partition("_")[0].partition(".")[0]
    then, after = (
        [{"id": number, "name": name, "type": "string"} for number, name in enumerate(names) if name]
        for names in (COLUMNS, now)
    )
    name = last.replace(".deltacommit", ".schemacommit") if completed else f"{int(time) + 1}.schemacommit"
    path = base / ".hoodie/.schema" / name
    path.parent.mkdir(exist_ok=True)
    schemas = [{"version_id": int(time), "fields": after}, {"version_id": 0, "fields": then}]
    path.write_text(json.dumps({"schemas": schemas}))
    (path.parent / f"{time}.schemacommit.requested").touch()
    return path


@pytest.mark.parametrize("version", support.VERSIONS)
def test_records_of_columns_with_other_names_are_not_merged(tmp_path: Path, version: str) -> None:
    base = support.unpack_logs(version, "ordering_event", tmp_path)
    rows = queried(base)
    for other in ("val2",), ("", "val"):
        write_history(base, version, ("id", "ts", *other))
        with pytest.raises(
            Unsupported, match=f"the column {other[-1]} was .* at [0-9]+: hudictl merges columns by name"
        ):
            queried(base)
    for same in (COLUMNS, ("id", "ts", "val", "added"), ("id", "ts", "")):
        write_history(base, version, same)
        assert queried(base) == rows
    path = write_history(base, version, ("id", "ts", "val2"))
    path.write_text(json.dumps({"schemas": [{}]}))
    with pytest.raises(Unreadable, match="is no history of schemas"):
        queried(base)
    path.unlink()
    write_history(base, version, ("id", "ts", "val2"), completed=False)
    assert queried(base) == rows
