"""What the tests of savepoint share with others."""

from pathlib import Path

from hudictl.formats.savepoint import decode


def files(base: Path, instant: str) -> dict[str, set[str]]:
    path = savepoint_file(base, instant)
    return {partition: set(names) for partition, names in decode(path.read_bytes(), path.name).files.items()}


def savepoint_file(base: Path, instant: str) -> Path:
    (path,) = [path for path in base.glob(f".hoodie/**/{instant}*.savepoint") if ".hoodie/metadata" not in str(path)]
    return path
