"""Writes what is generated from the program: commands.md, json.md, exit-codes.md, schemas/, the completions.

python docs/generate.py            writes the files
python docs/generate.py --check    writes nothing; exit code 1 where a file is not what it would write

A change of a JSON document that its readers can notice is not written (exit code 1), unless SCHEMA_VERSION in
hudictl/render/json.py is a new one: see docs/makers/schemas.py.
"""

import argparse
import sys
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from makers.commands import commands_page  # noqa: E402
from makers.completions import completions  # noqa: E402
from makers.exit_codes import exit_codes_page  # noqa: E402
from makers.json_page import json_page  # noqa: E402
from makers.schemas import losses, schema_files  # noqa: E402

CLICK = f"with click {version('click')}."
PAGE_NOTE = "<!-- Made by docs/generate.py from {source}: change it there. -->\n"
CLICK_NOTE = f"Made by docs/generate.py {CLICK}"


def generated() -> dict[str, str]:
    """The text of every generated file, by its path. Those that click has a part in name its version."""
    help = f"<!-- {CLICK_NOTE} Change the help in hudictl/cli. -->\n"
    return {
        "docs/commands.md": help + commands_page(),
        "docs/exit-codes.md": PAGE_NOTE.format(source="hudictl/errors.py") + exit_codes_page(),
        "docs/json.md": PAGE_NOTE.format(source="the types that commands print") + json_page(),
        **schema_files(),
        **{f"completions/{name}": text for name, text in completions(f"# {CLICK_NOTE}").items()},
    }


def stale(path: str, text: str) -> bool:
    """Whether the file is not what would be written. What another click has made cannot be compared."""
    file = ROOT / path
    if not file.exists():
        return True
    found = file.read_text(encoding="utf-8")
    if CLICK in text and CLICK not in found:
        print(f"{path}: not made {CLICK[:-1]}, not compared")
        return False
    return found != text


def main() -> int:
    """Writes, or checks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; 1 where a file is out of date")
    check = parser.parse_args().check
    files = generated()
    broken = list(losses(ROOT, files))
    for loss in broken:
        print(f"{loss}: readers of this SCHEMA_VERSION (hudictl/render/json.py) rely on it")
    if broken:
        return 1
    if check:
        outdated = [path for path, text in files.items() if stale(path, text)]
        for path in outdated:
            print(f"{path} is out of date: run `python docs/generate.py`")
        return 1 if outdated else 0
    for path, text in files.items():
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
