"""``hudictl mcp``."""

from functools import partial

import click

from hudictl.cli.profile_options import complete_tables, profile_of_table
from hudictl.cli.profiles import CONFIG, resolved, secrets_of
from hudictl.cli.tree import StrictCommand
from hudictl.errors import UsageError


@click.command(cls=StrictCommand)
@click.option(
    "-t",
    "--table",
    "served",
    multiple=True,
    required=True,
    metavar="URI",
    shell_complete=complete_tables,
    help="Base path of a table, or its profile's name. Repeatable: a model can name no other table.",
)
@click.option("--allow-changes", is_flag=True, help="Add a tool that executes a plan, without asking.")
@click.pass_context
def mcp(context: click.Context, served: tuple[str, ...], allow_changes: bool) -> None:
    """Serve tables to a language model: an MCP server on standard input and output.

    Its tools read, and plan restores, rollbacks and savepoints. Data files are listed by threads of this process.
    In a client's settings: `hudictl mcp -t trips -t orders`. Needs the extra mcp. What a model can see: docs/mcp.md.
    """
    try:
        from hudictl.cli.mcp_server import Tools, server
    except ImportError as error:
        raise UsageError(f"the package mcp is not installed: {error}", hint="pip install 'hudictl[mcp]'") from error
    from hudictl.library.opening import open

    tables, config = {}, context.find_root().params.get(CONFIG) or ""
    for text in served:
        profile = profile_of_table(text)
        for key in ("storage_options", "hoodie_conf"):
            resolved(profile, key)
        place, name = ("", profile.name) if profile else (text, None)
        tables[text] = partial(open, place, profile=name, config=config, engine="local")
        tables[text]().close()
    server(Tools(tables, secrets_of(context)), allow_changes=allow_changes).run("stdio")
