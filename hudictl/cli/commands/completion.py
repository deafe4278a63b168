"""``hudictl completion``."""

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from hudictl.cli.streams import emit
from hudictl.cli.tree import StrictCommand

SHELLS: dict[str, type[ShellComplete]] = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}


@click.command(cls=StrictCommand)
@click.argument("shell", type=click.Choice(list(SHELLS)))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script of SHELL: commands, options, instants and partitions.

    \b
    bash: source <(hudictl completion bash)
    zsh:  hudictl completion zsh > "${fpath[1]}/_hudictl"
    fish: hudictl completion fish > ~/.config/fish/completions/hudictl.fish
    """
    emit(script(context.find_root().command, SHELLS[shell]), nl=False)


def script(program: click.Command, kind: type[ShellComplete]) -> str:
    """The script that click makes for a shell, without asking which bash this host has."""
    return ShellComplete.source(kind(program, {}, "hudictl", "_HUDICTL_COMPLETE")).strip() + "\n"
