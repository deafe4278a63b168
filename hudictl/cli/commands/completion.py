"""``hudictl completion``."""

from functools import reduce

import click
from click.shell_completion import FishComplete, ShellComplete, ZshComplete

from hudictl.cli.complete import Bash
from hudictl.cli.streams import emit
from hudictl.cli.tree import StrictCommand

SHELLS: dict[str, type[ShellComplete]] = {"bash": Bash, "zsh": ZshComplete, "fish": FishComplete}
_MENDED = (
    ("    local -a completions\n", "    compset -P 1 '--*='\n    local -a completions\n"),
    (" -U", ' -U -i "$IPREFIX"'),
    ("end;\nend;", "end | string replace -r -- '^' (echo (string match -r '^--.*?=' -- (commandline -t)));\nend;"),
)
"""A value behind ``--option=`` is one, too: click's scripts put it in the place of the option, or find none."""


@click.command(cls=StrictCommand)
@click.argument("shell", type=click.Choice(list(SHELLS)))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script of SHELL: commands, options, paths, and names in the table.

    \b
    bash: source <(hudictl completion bash)
    zsh:  hudictl completion zsh > "${fpath[1]}/_hudictl"
    fish: hudictl completion fish > ~/.config/fish/completions/hudictl.fish
    """
    emit(script(context.find_root().command, SHELLS[shell]), nl=False)


def script(program: click.Command, kind: type[ShellComplete]) -> str:
    """The script that click makes for a shell, mended, without asking which bash this host has."""
    made = ShellComplete.source(kind(program, {}, "hudictl", "_HUDICTL_COMPLETE")).strip() + "\n"
    return reduce(lambda text, mended: text.replace(*mended), _MENDED, made)
