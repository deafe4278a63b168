"""``hudictl schema``."""

from difflib import get_close_matches

import click

from hudictl.cli.options import TableOptions, options_without_table
from hudictl.cli.show import show_rows
from hudictl.cli.streams import emit
from hudictl.cli.tree import StrictCommand
from hudictl.errors import UsageError


@click.command(cls=StrictCommand)
@click.argument("words", nargs=-1, metavar="[COMMAND]")
@options_without_table
def schema(common: TableOptions, words: tuple[str, ...]) -> None:
    """Print the JSON Schema (2020-12) of what COMMAND prints with --output json. Without COMMAND: list the commands.

    A line of --output ndjson is an entry of its `rows`. `hudictl schema error` prints the schema of the error object.

    The same schemas are in docs/schemas.
    """
    from hudictl.render.documents import SchemaRow, schema_rows
    from hudictl.render.schema import ERROR, schema_text

    rows = schema_rows()
    command = " ".join(" ".join(words).split())
    if not command:
        show_rows(common, "schema", None, rows, SchemaRow, "")
        return
    known = [*(row.command for row in rows), ERROR]
    if command not in known:
        near = [name for name in known if name.startswith(f"{command} ")] or get_close_matches(command, known)
        hint = f"did you mean {' or '.join(f'`{name}`' for name in near)}?" if near else "`hudictl schema` lists them"
        raise UsageError(f"{command}: not a command that prints JSON", hint=hint)
    emit(schema_text(command), nl=False)
