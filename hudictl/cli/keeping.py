"""Options of what a change makes of the metadata table."""

import functools
from dataclasses import dataclass
from typing import Any

import click

from hudictl.cli.options import Command


@dataclass(frozen=True)
class Keeping:
    """The fields are those of the options of a restore or rollback."""

    metadata: str
    require_index: tuple[str, ...]


def keeping_options(command: Command) -> Command:
    """Adds --metadata and --require-index; the command gets them as ``keeping``."""

    @click.option(
        "--metadata",
        type=click.Choice(["keep", "delete"]),
        default="keep",
        show_default=True,
        help="What becomes of the metadata table: all partitions that can be rolled back are kept, or it is deleted. "
        "The next Hudi write builds again what is deleted, as configured.",
    )
    @click.option(
        "--require-index",
        multiple=True,
        metavar="INDEX",
        help="Refuse the command if this partition of the metadata table cannot be kept (record_index, for example). "
        "If it is lost later, the command ends with 3. Repeatable; all: every index.",
    )
    @functools.wraps(command)
    def wrapped(metadata: str, require_index: tuple[str, ...], **kwargs: Any) -> Any:
        return command(keeping=Keeping(metadata, require_index), **kwargs)

    return wrapped  # type: ignore[return-value]
