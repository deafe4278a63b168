"""The command line as claims, locks and records keep it: without what may be a secret."""

import shlex
import sys

from hudictl.secrets import is_harmless, masked

STORAGE_OPTION = "--storage-option"
HOODIE_CONF = "--hoodie-conf"
PAIR_OPTIONS = (STORAGE_OPTION, "--conf", HOODIE_CONF)


def command_line() -> str:
    """This process's command line, for whoever meets its claim, without what may be a secret."""
    shown = ["hudictl"]
    for before, argument in zip(["", *sys.argv[1:]], sys.argv[1:], strict=False):
        option, separator, pair = argument.partition("=")
        if before in PAIR_OPTIONS:
            shown.append(kept(before, argument))
        elif option in PAIR_OPTIONS and separator:
            shown.append(f"{option}={kept(option, pair)}")
        else:
            shown.append(masked(argument))
    return shlex.join(shown)


def kept(option: str, value: str) -> str:
    """The value of an option, without what may be a secret."""
    key, _, _ = value.partition("=")
    return f"{key}=***" if option in PAIR_OPTIONS and not is_harmless(key) else masked(value)
