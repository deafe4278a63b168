"""What the tests of object store share with others."""

import re
from pathlib import Path

from hudictl.formats.layouts import OWN


def bare(names: set[str]) -> set[str]:
    """Names without the sidecars of local file systems, hudictl's own folder, and times that no two runs share."""
    kept = {name for name in names if not name.endswith(".crc") and not name.startswith(OWN)}
    kept = {re.sub(r"\d{17}(_\d{17})?\.restore", "R.restore", name) for name in kept}
    # The delta commit that a restore below version 8 has added to the metadata table, for its rollback blocks.
    kept = {re.sub(r"/\d{17}003\.deltacommit", "/R.deltacommit", name) for name in kept}
    return {re.sub(r"(\d{17})_\d{17}\.savepoint", r"\1.savepoint", name) for name in kept}


def files(base: Path) -> set[str]:
    return {path.relative_to(base).as_posix() for path in base.rglob("*") if path.is_file()}
