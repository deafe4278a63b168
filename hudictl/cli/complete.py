"""What the shell completes: instants, savepoints and partitions of the table that is named. No Spark, no errors."""

import os
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from hudictl.cli.options import TABLE_VARIABLE
from hudictl.cli.profiles import storage_options_of
from hudictl.errors import HudictlError
from hudictl.phrases import printable

if TYPE_CHECKING:
    from hudictl.table.table import Table

COMMITS = ("commit", "deltacommit", "replacecommit")
"""The actions that a savepoint stands on."""
_NEWEST_COMMITS = 10
_PLAIN = re.compile(r"[\w@%+=:,./][\w@%+=:,./-]*")
"""Names that mean the same in a shell's line: the others are not completed, as nothing quotes them there."""
Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def instants(*actions: str, completed: bool = False) -> Complete:
    """The instants of some actions, all where none is named; the newest first."""

    def names(table: "Table") -> Iterable[tuple[str, str]]:
        from hudictl.table.timeline import load_timeline

        for entry in reversed(load_timeline(table).instants):
            if (not actions or entry.action in actions) and (entry.completed or not completed):
                yield entry.time, f"{entry.action} {entry.state.name}"

    return _completed(names)


def partitions() -> Complete:
    """The partitions that the metadata table lists; of a table without one, those of its newest commits."""

    def names(table: "Table") -> Iterable[tuple[str, str]]:
        from hudictl.engine.local import LocalEngine
        from hudictl.state.metadata_gap import read_known
        from hudictl.table.commits import read_commit
        from hudictl.table.timeline import load_timeline

        known = read_known(table, LocalEngine())
        commits = [] if known.listing is not None else load_timeline(table).completed_writes()[-_NEWEST_COMMITS:]
        written = {partition for entry in commits for partition in read_commit(table, entry).stats}
        return ((partition, "") for partition in sorted(known.partitions or written) if partition)

    return _completed(names)


def indexes() -> Complete:
    """The partitions of the metadata table that can be dropped by themselves."""

    def names(table: "Table") -> Iterable[tuple[str, str]]:
        from hudictl.table.metadata_table import metadata_partition_names

        return ((name, "") for name in sorted(metadata_partition_names(table)) if name != "files")

    return _completed(names)


def _completed(names: "Callable[[Table], Iterable[tuple[str, str]]]") -> Complete:
    def complete(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
        from hudictl.table.table import open_table

        uri = context.params.get("uri") or os.environ.get(TABLE_VARIABLE, "")
        pairs = (option.partition("=") for option in context.params.get("storage") or ())
        # Whatever is wrong with the table, its commands say.
        with suppress(HudictlError, OSError):
            options = storage_options_of(context.params.get("profile")) | {key: value for key, _, value in pairs}
            found = dict(names(open_table(uri, options, None)))
            fit = [name for name in found if name.startswith(begun) and _PLAIN.fullmatch(name)]
            return [CompletionItem(name, help=printable(found[name]) or None) for name in fit]
        return []

    return complete
