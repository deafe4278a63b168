"""What the options of changes may be: a program can say more than the command line lets through."""

from collections.abc import Collection, Sequence
from math import inf
from typing import Any

from hudictl.errors import UsageError
from hudictl.formats.instants import ACTIONS, State
from hudictl.phrases import span

_CHOICES: dict[str, tuple[str | None, ...]] = {
    "metadata": ("keep", "delete"),
    "rule": (None, "requested", "completion"),
    "policy": ("lazy", "eager"),
    "by": ("partition", "commit"),
    "of": ("slices", "files"),
    "table_type": (None, "MERGE_ON_READ", "COPY_ON_WRITE"),
}
_RANGES = {
    "settle_s": (2, 3600),
    "grace_s": (0, inf),
    "idle_ms": (0, inf),
    "dead_after_ms": (60_000, inf),
    "limit": (0, inf),
    **dict.fromkeys(("last", "hourly", "daily", "weekly", "monthly", "yearly", "within_ms"), (0, inf)),
}
_SEVERAL = ("require_index", "partitions", "paths")
_TEXTS = ("to", "as_of", "instant", "key")
_STATES = tuple(state.name.lower() for state in State)


def refuse_wrong(options: object) -> None:
    """Raises UsageError: an option is none of the values that it can have; or they are no options of hudictl."""
    if not hasattr(options, "__dataclass_fields__"):
        raise UsageError(f"options={options!r}: write an object of hudictl's, as RestoreOptions(keep_files=True)")
    for name, value in vars(options).items():
        refuse_value(name, value)


def refuse_value(name: str, value: Any, said: str = "") -> None:
    """The same of one option. ``said``: how it was given."""
    if name in _CHOICES and value not in _CHOICES[name]:
        raise UsageError(f"{name}={value!r}: write {' or '.join(map(repr, _CHOICES[name]))}")
    if name in _TEXTS and not isinstance(value, str):
        raise UsageError(f"{name}={value!r}: write a text")
    if name in _SEVERAL and isinstance(value, str):
        # Its letters are not meant.
        raise UsageError(f"{name}={value!r}: write ({value!r},)")
    least, most = _RANGES.get(name, (0, inf))
    if name in _RANGES and not isinstance(value, int | float):
        raise UsageError(f"{name}={value!r}: write a number")
    # Not "value < least": nan is neither.
    if name in _RANGES and not least <= value <= most:
        unit = " seconds" if name.endswith("_s") else ""
        low, high = (span(int(bound)) if name.endswith("_ms") and bound < inf else bound for bound in (least, most))
        bounds = f"the least is {low}" if most is inf else f"between {low} and {high}"
        raise UsageError(f"{said or f'{name}={value!r}'}: {bounds}{unit}")


def refuse_no_tag(tag: str) -> None:
    """Raises UsageError: a text is no tag."""
    from hudictl.state.files.savepoints import TAG

    if TAG.fullmatch(tag) is None:
        raise UsageError(
            f"tag {tag}: not a tag",
            hint="up to 32 letters, digits, '-', '_' and '.', with a letter or digit first: nightly",
        )


def several(texts: str | Sequence[str]) -> Sequence[str]:
    """Texts, of which a program may give one as it is: its letters are not meant."""
    return (texts,) if isinstance(texts, str) else texts


def chosen(actions: str | Sequence[str], states: str | Sequence[str], limit: int | None = None) -> dict[str, Any]:
    """The fields of a ``TimelineFilter`` beside the times. Raises UsageError."""
    if limit is not None:
        refuse_value("limit", limit)
    words = {"actions": _words("actions", actions, ACTIONS), "states": _words("states", states, _STATES)}
    return {**words, "limit": limit}


def _words(name: str, said: str | Sequence[str], known: Collection[str]) -> tuple[str, ...]:
    """Words in small letters. Raises UsageError: one is not known."""
    words = tuple(str(word).lower() for word in several(said))
    for word in words:
        if word not in known:
            raise UsageError(f"{name}: there is no {word!r}", hint=f"the words are: {', '.join(sorted(known))}")
    return words
