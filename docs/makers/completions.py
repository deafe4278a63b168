"""The completions of the shells, as files."""

from click.shell_completion import ShellComplete

from hudictl.cli.commands.completion import SHELLS, script
from hudictl.cli.main import hudictl

# zsh looks a completion up by its file's name.
_FILES = {"hudictl.bash": "bash", "_hudictl": "zsh", "hudictl.fish": "fish"}


def completions(note: str) -> dict[str, str]:
    """The scripts, by their file's name, with a note on their origin."""
    return {name: _noted(SHELLS[shell], note) for name, shell in _FILES.items()}


def _noted(kind: type[ShellComplete], note: str) -> str:
    text = script(hudictl, kind)
    # zsh reads the first line of the file.
    first, _, rest = text.partition("\n") if text.startswith("#compdef") else ("", "", text)
    return "\n".join(part for part in (first, note, rest) if part)
