"""docs/exit-codes.md: the codes of errors.py."""

from collections.abc import Iterator

from hudictl import errors
from hudictl.errors import HudictlError
from hudictl.render.json import error_object

_PAGE = """\
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
- **0**: go on. If you run a finished command again at once, it also ends with 0, except `orphans delete PATH` (10): the
  file is gone, or the path is wrong.
- **3, 15, 16, 17, 130**: the operation may have begun. Repair the cause, then run the same command again.
  `hudictl table show` reports whether something is pending. `hudictl resume` also finishes a pending restore.
- **12**: stop the writers and table services, or wait for the other operator. Then run the same command again.
  But if `apply` reports that the table has changed since the plan was made: make a new plan. The operation stopped
  before its first change, or between two steps: `hudictl table show` reports whether it is pending.
- **2, 4, 10, 11, 13**: refused before the first change. The same command fails again; follow the message.
  Only an undo, or `resume --withdraw`, also ends with 13 where another process has changed the table meanwhile:
  `hudictl table show` reports what has begun.
- **14**: a file of the table is damaged; the message names it. `hudictl check` names the command that mends it. If
  there is none, put the file back from a backup.
- **1**: a bug. Set `HUDICTL_DEBUG=1` to get the traceback, and report it."""


def exit_codes() -> list[tuple[int, str]]:
    """All codes, with their meaning."""
    besides = [(0, "done, or nothing to do"), (errors.WOULD_CHANGE, "--detailed-exitcode: something would change")]
    return sorted([*besides, *((kind.exit_code, kind.meaning) for kind in _sorted())])


def exit_codes_page() -> str:
    """The page of exit codes."""
    rows = "\n".join(f"| {kind.exit_code} | `{kind.slug}` | {kind.meaning} |" for kind in _sorted())
    return _PAGE.format(rows=rows, would=errors.WOULD_CHANGE, advice=_ADVICE, example=error_object(example_error()))


def example_error() -> HudictlError:
    """An error as pages show it."""
    return errors.NotFound(
        "file:///lake/trip is not a Hudi table: there is no .hoodie/hoodie.properties",
        hint="give the table's base path: the folder with .hoodie",
        table="file:///lake/trip",
    )


def _sorted() -> list[type[HudictlError]]:
    return sorted(_exceptions(), key=lambda kind: kind.exit_code)


def _exceptions(base: type[HudictlError] = HudictlError) -> Iterator[type[HudictlError]]:
    """An exception class and all that are derived from it."""
    yield base
    for derived in base.__subclasses__():
        yield from _exceptions(derived)
