"""What ends a state that is not as it should be: a command, and what it leaves."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Remedy:
    """A command that ends a state, and the result of that command."""

    command: str
    leaves: str
