"""``hudictl schema``."""

from difflib import get_close_matches

import click
from click.shell_completion import CompletionItem

from hudictl.cli.options import TableOptions, options_without_table
from hudictl.cli.show import show_rows
from hudictl.cli.streams import emit
from hudictl.cli.tree import StrictCommand
from hudictl.errors import UsageError


def _next_words(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    names = getattr(context.find_root().command, "commands", {})
    for word in context.params.get("words") or ():
        names = getattr(names.get(word), "commands", {})
    return [CompletionItem(name) for name in names if name.startswith(begun)]


@click.command(cls=StrictCommand)
@click.argument("words", nargs=-1, metavar="[COMMAND]", shell_complete=_next_words)
@options_without_table
def schema(common: TableOptions, words: tuple[str, ...]) -> None:
    """Print the JSON Schema (2020-12) of what COMMAND prints with --output json. Without COMMAND: list the commands.

    `hudictl schema error` prints the schema of the error object. docs/json.md says what can change, and when.
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
