"""The findings of ``check``: as text, and for a monitoring plugin."""

from collections.abc import Collection, Iterator, Sequence

from hudictl.phrases import count_of, first_few
from hudictl.render.nagios import CRITICAL, OK, UNKNOWN, WARNING, status_lines
from hudictl.reports.health.finding import ERROR, SEVERITIES
from hudictl.reports.health.tables import Checked

_CONTENTS = "the contents of data files (`log verify`, `check --footers`)"
_CONTENTS_BUT_ENDS = "the contents of data files, but for the ends of base files (`log verify`)"


def lines(
    tables: Sequence[Checked], *, names: bool = False, chosen: bool = False, footers: bool = False
) -> Iterator[str]:
    """Every finding with its meaning and remedy, the gravest first, below its table where there are several. What was
    not checked comes last.

    Args:
        names: with the name of each finding that was not checked.
        chosen: some findings alone were asked for.
        footers: the ends of base files were read.
    """
    for table in tables:
        if len(tables) > 1:
            yield f"{table.table}:"
        for found in sorted(table.findings, key=lambda found: SEVERITIES.index(found.severity)):
            yield f"{found.severity}: {found.finding}: {found.subject}"
            yield f"  {found.meaning}"
            if found.remedy:
                yield f"  do: {found.advice}"
            yield ""
        if not table.findings:
            yield "no findings"
    skipped = dict.fromkeys(entry.finding for table in tables for entry in table.skipped)
    left = [] if chosen else [_CONTENTS_BUT_ENDS if footers else _CONTENTS]
    if skipped:
        which = f": {', '.join(skipped)}" if names else "; -v names them"
        left.append(f"{count_of(len(skipped), 'check')} by the writers' settings (--props, --assume-defaults{which})")
    if left:
        yield f"not checked: {'; '.join(left)}"


def plugin_status(tables: Sequence[Checked], grave: Collection[str]) -> tuple[int, list[str]]:
    """The exit code of a monitoring plugin, and its lines.

    Critical: there are errors. Unknown: no error, but a table could not be checked. Warning: findings of another of
    the ``grave`` severities.
    """
    counts = {severity: sum(entry.count(severity) for entry in tables) for severity in SEVERITIES}
    failed = [entry for entry in tables if entry.error]
    counts[ERROR] -= len(failed)
    if counts[ERROR]:
        status = CRITICAL
    elif failed:
        status = UNKNOWN
    else:
        status = WARNING if any(counts[severity] for severity in grave) else OK

    where = "; in {}" if len(tables) > 1 else ""
    told = [
        f"{found.severity}: {found.finding}: {found.subject}: {found.meaning}{where.format(entry.table)}"
        for entry in tables
        for found in entry.findings
    ]
    names = sorted({found.finding for entry in tables for found in entry.findings})
    about = first_few(names, rest=" and {} more") or "no findings"
    numbers = {f"{severity}s": count for severity, count in counts.items()} | {"not_checked": len(failed)}
    return status, status_lines(status, f"{about} in {count_of(len(tables), 'table')}", told, numbers)
