"""Dataclasses from JSON values: of hudictl's own files, and of plans that it has printed."""

from typing import Any, TypeVar

Kind = TypeVar("Kind")


def decode(kind: type[Kind], value: Any) -> Kind:
    """A dataclass from a JSON object.

    Each field, in nested ones too, is of its type, and none is unknown; only those with a default may be missing.

    Raises ValueError: the reason, in one line.
    """
    from dacite import Config, DaciteError, from_dict

    try:
        # A JSON array is a list; a field of several values is a tuple.
        return from_dict(kind, value, Config(strict=True, cast=[tuple], type_hooks={tuple[str, ...]: _texts}))
    except (DaciteError, TypeError, AttributeError) as error:
        raise ValueError(" ".join(str(error).split())) from error


def _texts(value: Any) -> Any:
    """A text is not several texts, although it has letters."""
    if isinstance(value, str):
        raise TypeError(f"{value!r} is no list")
    return value
