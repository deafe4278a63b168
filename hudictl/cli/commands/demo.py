"""``hudictl demo``."""

import shlex
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import click

from hudictl.cli.streams import emit
from hudictl.cli.tree import StrictCommand
from hudictl.errors import Incomplete


@click.command(cls=StrictCommand)
@click.option(
    "--engine", type=click.Choice(["spark", "local"]), default="spark", help="Spark, or local threads without Java."
)
@click.option("--keep", is_flag=True, help="Keep the table, and print its path.")
@click.pass_context
def demo(context: click.Context, engine: str, keep: bool) -> None:
    """Show a restore on a small real table in a temporary folder. It touches no other table."""
    folder = Path(tempfile.mkdtemp(prefix="hudictl-demo-"))

    def run(*arguments: str) -> None:
        emit(click.style(f"\n$ hudictl {shlex.join(arguments)}", bold=True))
        group = context.find_root().command
        with group.make_context("hudictl", list(arguments)) as inner:
            group.invoke(inner)

    try:
        _play(folder, run, engine)
        if keep:
            emit(f"\nThe table is in {folder / 'trips'}")
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def _play(folder: Path, run: Callable[..., None], engine: str) -> None:
    from hudictl.demo import BAD_COMMITS, TABLE, unpack

    base = unpack(TABLE, folder)
    table = ("--table", str(base))
    emit("A table of trips, written by Hudi 1.2.0.")
    run("table", "show", *table)
    run("timeline", "show", *table)
    run("savepoint", "create", *table, "--comment", "before the nightly job", "--yes", "--engine", engine)
    good = _data_files(base)
    emit("\nNow a nightly job makes two commits: they overwrite all rows with wrong fares.")
    unpack(BAD_COMMITS, folder)
    run("timeline", "show", *table)
    instant = _savepoint(base)
    run("restore", instant, *table, "--yes", "--engine", engine)
    run("timeline", "show", *table)
    left = _data_files(base)
    if left != good:
        differing = sorted(path for path, _ in left ^ good)
        raise Incomplete(f"the table's files are not those of the savepoint: {', '.join(differing)}", files=differing)
    emit(f"\nThe table has exactly the {len(left)} data files that it had when the savepoint {instant} was made.")


def _savepoint(base: Path) -> str:
    from hudictl.table.open import open_table
    from hudictl.table.timeline.active import load_timeline

    return load_timeline(open_table(str(base))).savepoints()[-1].time


def _data_files(base: Path) -> set[tuple[str, int]]:
    from hudictl.formats.file_names import parse_data_file

    return {
        (path.relative_to(base).as_posix(), path.stat().st_size)
        for path in base.glob("*/*")
        if parse_data_file(path.name) is not None
    }
