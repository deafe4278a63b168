"""What an operation tells while it runs, and where it may be stopped."""

from typing import Protocol


class Monitor(Protocol):
    """Called between steps, never inside one."""

    def step(self, name: str) -> None:
        """A step begins. Raises Interrupted where the operator asked to stop."""

    def check(self) -> None:
        """Called while waiting. Raises Interrupted where the operator asked to stop."""

    def note(self, text: str) -> None:
        """Something worth a line in the post-mortem: what was read or written."""


class Silent:
    """Tells nothing and never stops."""

    def step(self, name: str) -> None:
        return None

    def check(self) -> None:
        return None

    def note(self, text: str) -> None:
        return None
