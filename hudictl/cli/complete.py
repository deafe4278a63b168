"""What the shell completes: paths, profiles, and names in the table that is given. No Spark, no errors."""

import os
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

import click
from click.shell_completion import BashComplete, CompletionItem, split_arg_string

from hudictl.cli.profiles import resolved
from hudictl.errors import HudictlError
from hudictl.phrases import printable

if TYPE_CHECKING:
    from hudictl.table.table import Table

COMMITS = ("commit", "deltacommit", "replacecommit")
"""The actions that a savepoint stands on."""
_PLAIN = re.compile(r"[\w@%+=:,./][\w@%+=:,./-]*")
"""Names that mean the same in a shell's line: the others are not completed, as nothing quotes them there."""
Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


class Bash(BashComplete):
    """As click's, but it gets the line up to the cursor: bash itself takes ``s3://lake/trips`` and ``dt=2026`` apart,
    and replaces their last part alone. Folders stand beside names."""

    source_template = """\
%(complete_func)s() {
    local type value
    COMPREPLY=()
    while IFS=, read -r type value; do
        [[ $type == plain ]] && COMPREPLY+=("$value")
        [[ $type == dir ]] && compopt -o filenames -o plusdirs
        [[ $type == file ]] && compopt -o default
    done < <(env COMP_WORDS="${COMP_LINE:0:COMP_POINT}" COMP_CWORD="$2" %(complete_var)s=bash_complete "$1")
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""

    def get_completion_args(self) -> tuple[list[str], str]:
        # With a sign more there is a last word, also after a blank.
        *words, last = split_arg_string(f"{os.environ['COMP_WORDS']}x")
        return words[1:], last[:-1]

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        begun = incomplete.partition("=")[2] if incomplete.startswith("-") else incomplete
        kept = max(0, len(begun) - len(os.environ["COMP_CWORD"]))
        found = super().get_completions(args, incomplete)
        return [CompletionItem(item.value[kept:], item.type) for item in found]


def findings(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """The names of what ``check`` finds."""
    from hudictl.reports.health.names import NAMES

    return [CompletionItem(name) for name in sorted(NAMES) if name.startswith(begun)]


def _of_table(names: "Callable[[Table, str], Iterable[tuple[str, str]]]") -> Complete:
    """What completes the names of a table that begin with a text, each with what it is."""

    def complete(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
        from hudictl.table.open import open_table

        names_of = getattr(context.command, "commands", ()) if isinstance(parameter, click.Argument) else ()
        below = [CompletionItem(name) for name in names_of if name.startswith(begun)]
        # The shell, which expands ~, has not done it yet.
        uri = os.path.expanduser(context.params.get("uri") or "")
        pairs = (option.partition("=") for option in context.params.get("storage") or ())
        # Whatever is wrong with the table, its commands say.
        with suppress(HudictlError, OSError):
            options = resolved(context.params.get("profile"), "storage_options")
            options |= {key: value for key, _, value in pairs}
            found = dict(names(open_table(uri, options, None), begun))
            fit = [name for name in found if name.startswith(begun) and _PLAIN.fullmatch(name)]
            return below + [CompletionItem(name, help=printable(found[name]) or None) for name in fit]
        return below

    return complete


def instants(*actions: str, completed: bool = False) -> Complete:
    """The instants of some actions, all where none is named; the newest first."""

    @_of_table
    def names(table: "Table", _begun: str) -> Iterable[tuple[str, str]]:
        from hudictl.table.timeline.active import load_timeline

        for entry in reversed(load_timeline(table).instants):
            if (not actions or entry.action in actions) and (entry.completed or not completed):
                yield entry.time, f"{entry.action} {entry.state.name}"

    return names


@_of_table
def tags(table: "Table", _begun: str) -> Iterable[tuple[str, str]]:
    """The tags of the savepoints; the newest first."""
    from hudictl.state.files.savepoints import read_savepoint_head, tag_of
    from hudictl.table.timeline.active import load_timeline

    timeline = load_timeline(table)
    for entry in timeline.savepoints()[::-1]:
        head = read_savepoint_head(table, timeline, entry.time)
        if head is not None and (tag := tag_of(head.comment)):
            yield tag, ""


def instants_in(folder: str) -> Complete:
    """The instants that a folder of the table has files of, as heartbeats and markers; the newest first."""

    @_of_table
    def names(table: "Table", _begun: str) -> Iterable[tuple[str, str]]:
        from hudictl.storage import entries_of

        found = {entry.name.partition(".")[0] for entry in entries_of(table.storage, folder)}
        return ((time, "") for time in sorted(filter(str.isdigit, found), reverse=True))

    return names


@_of_table
def partitions(table: "Table", begun: str) -> Iterable[tuple[str, str]]:
    """The folders of the table, by level; of the only one that fits, those below it."""
    from hudictl.storage import entries_of

    def below(folder: str) -> list[str]:
        entries = entries_of(table.storage, folder)
        paths = (os.path.join(folder, entry.name) for entry in entries if entry.is_dir and entry.name[0] != ".")
        return sorted(path for path in paths if path.startswith(begun))

    found = below(begun.rpartition("/")[0])
    while len(found) == 1 and (deeper := below(found[0])):
        found = deeper
    return ((path, "") for path in found)


@_of_table
def indexes(table: "Table", _begun: str) -> Iterable[tuple[str, str]]:
    """The partitions of the metadata table that can be dropped by themselves."""
    from hudictl.table.metadata.place import metadata_partition_names

    return ((name, "") for name in sorted(metadata_partition_names(table)) if name != "files")
