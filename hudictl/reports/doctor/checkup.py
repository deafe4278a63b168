"""The result of one check of ``doctor``."""

from collections.abc import Callable
from dataclasses import dataclass

from hudictl.errors import HudictlError

OK, WARNING, MISSING = "ok", "warning", "missing"


@dataclass(frozen=True, slots=True)
class Checkup:
    """What a check has found. ``outcome``: one of ok, warning and missing. ``advice``: what to do; else empty."""

    check: str
    outcome: str
    text: str
    advice: str = ""


def checked(check: str, look: Callable[[], Checkup]) -> Checkup:
    """The result of a check; a failure is one, too."""
    try:
        return look()
    except HudictlError as error:
        return Checkup(check, MISSING, error.message, error.hint)
    except Exception as error:  # of any driver or library: it must not stop the other checks
        return Checkup(check, MISSING, f"{type(error).__name__}: {str(error).strip() or 'no message'}".splitlines()[0])
