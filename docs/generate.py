"""Writes what is generated from the program: docs/exit-codes.md and the shell completions.

python docs/generate.py            writes the files
python docs/generate.py --check    writes nothing; exit code 1 where a file is not what it would write
"""

import argparse
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from click.shell_completion import ShellComplete  # noqa: E402

from hudictl import errors  # noqa: E402
from hudictl.cli.commands.completion import SHELLS, script  # noqa: E402
from hudictl.cli.main import hudictl  # noqa: E402
from hudictl.errors import HudictlError  # noqa: E402
from hudictl.render.json import error_object  # noqa: E402

# zsh looks a completion up by its file's name.
COMPLETIONS = {
    "completions/hudictl.bash": SHELLS["bash"],
    "completions/_hudictl": SHELLS["zsh"],
    "completions/hudictl.fish": SHELLS["fish"],
}
EXIT_CODES = "docs/exit-codes.md"
CLICK = version("click")

_PAGE = """\
<!-- Made by docs/generate.py from hudictl/errors.py: change it there. -->
# Exit codes

Every command ends with one of these codes, in each output format. A code keeps its meaning in later releases.

| code | slug | meaning |
| --- | --- | --- |
| 0 | | done, or nothing to do; also `show` and `list` with any result |
{rows}

`--plan` ends with 0, or with the same code as the command itself if it would be refused. With `--detailed-exitcode` it
ends with {would} if something would change, and with 0 if not.

## In a script

{advice}

With `--output json` an error is one object on stderr:

```json
{example}
```
"""

_ADVICE = """\
- **0**: go on. If you run a finished command again, it also ends with 0.
- **3, 15, 16, 17, 130**: the operation may have begun. Repair the cause, then run the same command again.
  `hudictl table show` reports whether something is pending. `hudictl resume` also finishes a pending restore.
- **12**: stop the writers and table services, or wait for the other operator. Then run the same command again. The
  operation stopped before its first change, or between two steps: `hudictl table show` reports whether it is pending.
- **2, 4, 10, 11, 13**: refused before the first change. The same command fails again; follow the message.
- **14**: a file of the table is damaged; the message names it. Put it back from a backup.
- **1**: a bug. Set `HUDICTL_DEBUG=1` to get the traceback, and report it."""


def exceptions(base: type[HudictlError] = HudictlError) -> Iterator[type[HudictlError]]:
    """An exception class and all that are derived from it."""
    yield base
    for derived in base.__subclasses__():
        yield from exceptions(derived)


def exit_codes() -> str:
    """The page of exit codes."""
    found = sorted(exceptions(), key=lambda kind: kind.exit_code)
    rows = "\n".join(f"| {kind.exit_code} | `{kind.slug}` | {kind.meaning} |" for kind in found)
    example = errors.NotFound(
        "file:///lake/trip is not a Hudi table: there is no .hoodie/hoodie.properties",
        hint="give the table's base path: the folder with .hoodie",
        table="file:///lake/trip",
    )
    return _PAGE.format(rows=rows, would=errors.WOULD_CHANGE, advice=_ADVICE, example=error_object(example))


def completion(kind: type[ShellComplete]) -> str:
    """The script for a shell, with a note on its origin."""
    text = script(hudictl, kind)
    note = f"# Made by docs/generate.py with click {CLICK}."
    # zsh reads the first line of the file.
    first, _, rest = text.partition("\n") if text.startswith("#compdef") else ("", "", text)
    return "\n".join(part for part in (first, note, rest) if part)


def generated() -> dict[str, str]:
    """The text of every generated file, by its path."""
    return {EXIT_CODES: exit_codes()} | {path: completion(kind) for path, kind in COMPLETIONS.items()}


def stale(path: str, text: str) -> bool:
    """Whether the file is not what would be written. A completion that another click has made cannot be compared."""
    file = ROOT / path
    if not file.exists():
        return True
    found = file.read_text(encoding="utf-8")
    if path in COMPLETIONS and f"with click {CLICK}." not in found:
        print(f"{path}: made with another click than {CLICK}, not compared")
        return False
    return found != text


def main() -> int:
    """Writes, or checks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; 1 where a file is out of date")
    check = parser.parse_args().check
    outdated = [path for path, text in generated().items() if stale(path, text)] if check else []
    for path in outdated:
        print(f"{path} is out of date: run `python docs/generate.py`")
    if not check:
        for path, text in generated().items():
            (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / path).write_text(text, encoding="utf-8")
    return 1 if outdated else 0


if __name__ == "__main__":
    sys.exit(main())
