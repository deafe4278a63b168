"""The command line as claims, locks and records keep it: without what may be a secret."""

import re
import shlex
import sys

from hudictl.cli.options import PAIR_OPTIONS, STORAGE_OPTION

# What Spark itself redacts of its configuration.
_SECRET = re.compile(r"secret|password|token|access[.]?key", re.IGNORECASE)


def command_line() -> str:
    """This process's command line, for whoever meets its claim, without what may be a secret."""
    shown = ["hudictl"]
    for before, argument in zip(["", *sys.argv[1:]], sys.argv[1:], strict=False):
        option, separator, pair = argument.partition("=")
        if before in PAIR_OPTIONS:
            shown.append(_masked(before, argument))
        elif option in PAIR_OPTIONS and separator:
            shown.append(f"{option}={_masked(option, pair)}")
        else:
            shown.append(argument)
    return shlex.join(shown)


def _masked(option: str, pair: str) -> str:
    key, _, _ = pair.partition("=")
    return f"{key}=***" if option == STORAGE_OPTION or _SECRET.search(key) else pair
