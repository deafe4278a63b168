"""Options of what a change makes of the metadata table."""

from collections.abc import Callable
from dataclasses import dataclass

import click

from hudictl.cli.complete import indexes
from hudictl.cli.options import Command, gathered


@dataclass(frozen=True)
class Keeping:
    """The fields are those of the options of a restore or rollback."""

    metadata: str
    require_index: tuple[str, ...]


def _options(metadata_help: str, required_help: str) -> Callable[[Command], Command]:
    """Adds --metadata and --require-index; the command gets them as ``keeping``."""

    return gathered(
        "keeping",
        Keeping,
        click.option(
            "--metadata",
            type=click.Choice(["keep", "delete"]),
            default="keep",
            show_default=True,
            help=f"{metadata_help} The next Hudi write builds again what is deleted, as configured.",
        ),
        click.option(
            "--require-index",
            multiple=True,
            metavar="INDEX",
            shell_complete=indexes,
            help=f"Refuse the command if this index of the metadata table {required_help} Repeatable; all: every index "
            "in use.",
        ),
    )


keeping_options = _options(
    "keep: the metadata table is rolled back with the table; its partitions that cannot are deleted. By default they "
    "can go back 10 to 20 commits (see metadata partitions). delete: all of it is deleted.",
    "cannot be kept (record_index, for example). If that is found only later, the command ends with 3 when it is done.",
)
orphan_keeping_options = _options(
    "keep: the metadata table stays. If it lists some of the files, they are taken out of it, and its indexes of keys "
    "are deleted. delete: all of it is deleted.",
    "would be deleted (record_index, for example).",
)
