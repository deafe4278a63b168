"""A variable of the environment for every option, but for those that answer a question or accept a loss."""

import click

_PREFIX = "HUDICTL_"
NEVER = frozenset(
    {
        *(
            "help",
            "version",
            "plan",
            "detailed",
            "yes",
            "single_operator",
            "no_lock",
            "allow_changes",
            "allow_pending",
            "withdraw",
            "accept_loss",
            "accept_lost_instants",
            "served",
            "untagged",
            "dangerous",
            "removed",
            "copied_alone",
        ),
        *("with_later_writes", "delete_later_savepoints", "discard_rollbacks"),
    }
)
"""What must be said each time: a variable that was set once would say it for good."""


def give_variables(command: click.Command) -> None:
    """Names the variable of each option of a command; --help shows it with the default."""
    for parameter in command.params:
        if isinstance(parameter, click.Option) and parameter.name not in NEVER:
            # The table's is named where it counts.
            if parameter.envvar is None and parameter.name != "uri":
                longest = max(parameter.opts, key=len)
                parameter.envvar = _PREFIX + longest.lstrip("-").replace("-", "_").upper()
            parameter.show_envvar = True
            # Of a flag it is that it is not given.
            parameter.show_default = not parameter.is_flag and parameter.default != ""
