"""Asks Hudi's own validators about the sample tables as they are: ``python -m tests.interop.make_validated v6 v8 v9``.

``tests/tables/validated-<version>.json`` has for each table what the release that writes its version says:

- ``dangling``: the files that HoodieDataTableValidator suspects, in alphabetical order;
- ``data``, ``metadata``: why a validator finds fault with the table, or fails at it; the first without the dangling
  files, the second of the listing, bloom filters and the record index;
- ``passed over``: why the metadata table was not compared: the validator then returns as if all were well.

What was not found is left out. The validators are in Hudi's utilities. What is there already is kept: delete the file,
or a line of it, to ask anew.
"""

import json
import re
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests import support
from tests.interop.judge import Judge, JudgeError
from tests.interop.make_damages import asking

Said = dict[str, Any]
# The log alone has the names.
DANGLING = re.compile(r"ERROR HoodieDataTableValidator: Dangling file: (\S+)")
PASSED_OVER = re.compile(
    r"WARN HoodieMetadataTableValidator: ((?:Metadata table is not|The result of|Error closing).*)"
)
TEXT = 200


def ask(version: str, note: Callable[[str], None] = print) -> None:
    """Those tables of a version that have not been asked about yet."""
    file = support.validated_file(version)
    known: dict[str, Said] = json.loads(file.read_text()) if file.exists() else {}
    with asking(version) as judge:
        for name in support.every_name(version):
            if name not in known:
                with tempfile.TemporaryDirectory() as scratch:
                    known[name] = said(judge(), support.unpack(version, name, Path(scratch)))
                write(file, known)
                note(f"{version} {name}: {known[name]}")


def said(hudi: Judge, base: Path) -> Said:
    """What both validators say of a table."""
    found: Said = {}
    error, log = validate(hudi, "data", base)
    if dangling := sorted(DANGLING.findall(log)):
        assert error.endswith(f"dangling files {len(dangling)}"), error
        found["dangling"] = dangling
    elif error:
        found["data"] = error
    error, log = validate(hudi, "metadata", base)
    if error:
        found["metadata"] = error[:TEXT]
    if skipped := PASSED_OVER.findall(log):
        found["passed over"] = skipped[0][:TEXT]
    return found


def validate(hudi: Judge, name: str, base: Path) -> tuple[str, str]:
    """The innermost exception, or "", and what was logged; without paths of this machine."""
    before = hudi.log.stat().st_size
    try:
        hudi.call(f"validate_{name}", path=base)
        error = ""
    except JudgeError as failed:
        error = failed.errors[-1].splitlines()[0]
    log = hudi.log.read_bytes()[before:].decode(errors="replace")
    return _anywhere(error, base), _anywhere(log, base)


def _anywhere(text: str, base: Path) -> str:
    return re.sub(rf"(?:file:/*)?{re.escape(str(base))}/?", "", text)


def write(file: Path, known: Mapping[str, Said]) -> None:
    """A line for each table."""
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(found)}" for name, found in sorted(known.items()))
    file.write_text(f"{{\n{lines}\n}}\n")


def main(versions: Sequence[str]) -> None:
    for version in versions:
        ask(version, lambda line: print(line, flush=True))


if __name__ == "__main__":
    main(sys.argv[1:])
