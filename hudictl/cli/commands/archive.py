"""``hudictl archive``."""

import click

from hudictl.cli.options import ChangeOptions, idle_option
from hudictl.cli.repairs import run_repair
from hudictl.cli.tree import StrictGroup
from hudictl.cli.writers_options import change_options
from hudictl.library import changes


@click.group(cls=StrictGroup)
def archive() -> None:
    """Mend the archived timeline."""


@archive.command()
@idle_option
@change_options
def repair(change: ChangeOptions, idle_ms: int) -> None:
    """Mend damaged files of the archived timeline, so that Hudi can read it, and archive, again.

    What can be read stays in the archive; what cannot goes into quarantine, and the plan says which instants are lost.
    hudictl remembers it: it refuses a restore to before them, and deletes no orphans of their time. `hudictl undo`
    takes the repair back. The archive of the metadata table is not mended: see `hudictl metadata drop`.
    """
    run_repair(changes.archive_repair(idle_ms), change)
