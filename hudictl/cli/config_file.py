"""The text of a configuration file: its profiles, each with a table's settings."""

import difflib
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hudictl.cli.environment import NEVER
from hudictl.cli.references import Reference, Structure, Value
from hudictl.errors import UsageError

ENGINES = ("spark", "local")
_PROFILES = "profiles"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
_KINDS = ("env", "file")


@dataclass(frozen=True)
class Profile:
    """The settings of a table. ``file`` is the configuration file.

    None, or an empty text or map: the profile does not say it.
    """

    name: str
    file: str
    uri: str = ""
    timezone: str | None = None
    engine: str | None = None
    master: str | None = None
    shared_filesystem: bool | None = None
    props: str | None = None
    storage_options: Mapping[str, Value] = field(default_factory=dict)
    hoodie_conf: Mapping[str, Value] = field(default_factory=dict)
    spark_conf: Mapping[str, Value] = field(default_factory=dict)

    def where(self, key: str) -> str:
        """The place of a key, as errors say it."""
        return f"{self.file}: profile {self.name}: {key}"


def parse_profiles(body: bytes, file: str) -> dict[str, Profile]:
    """The profiles of a configuration file, by name.

    Args:
        file: its absolute path; relative paths in it begin at its folder.

    Raises:
        UsageError: not TOML, an unknown key, a value of another type.
    """
    document = _decoded(body, file)
    for key in document:
        if key != _PROFILES:
            raise _unknown(key, [_PROFILES], file, "")
    named = document.get(_PROFILES, {})
    if not isinstance(named, dict):
        raise UsageError(f"{file}: {_PROFILES}: write a table for each profile: [{_PROFILES}.NAME]")
    return {name: _profile(name, values, file) for name, values in named.items()}


def _decoded(body: bytes, file: str) -> dict[str, Any]:
    # Imported here: most hosts have no configuration file.
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        document: dict[str, Any] = tomllib.loads(body.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        # Only the place: an error may quote what is there.
        place = re.search(r"\(at .*\)$", str(error))
        raise UsageError(f"{file}: not TOML{f' {place[0]}' if place else ''}", hint="see docs/profiles.md") from None
    return document


def _profile(name: str, values: Any, file: str) -> Profile:
    if not _NAME.fullmatch(name):
        raise UsageError(f"{file}: the profile {name!r}: a name has only letters, digits, _, - and .")
    if not isinstance(values, dict):
        raise UsageError(f"{file}: {_PROFILES}.{name}: write a table: [{_PROFILES}.{name}]")
    empty = Profile(name, file)
    found: dict[str, Any] = {}
    for key, value in values.items():
        if key not in _READERS:
            raise _unknown(key, list(_READERS), file, f"profile {name}: ")
        found[key] = _READERS[key](value, empty.where(key))
    folder = os.path.dirname(file)
    for key in ("uri", "props"):
        if key in found:
            found[key] = _placed(found[key], folder)
    for key in ("storage_options", "hoodie_conf", "spark_conf"):
        if key in found:
            found[key] = {option: _referenced_from(value, folder) for option, value in found[key].items()}
    return Profile(name, file, **found)


def _unknown(key: str, known: list[str], file: str, where: str) -> UsageError:
    if key.replace("-", "_") in NEVER:
        return UsageError(
            f"{file}: {where}a configuration file cannot give {key}: it must be given each time",
            hint=f"use --{key.replace('_', '-')} on the command line",
        )
    close = difflib.get_close_matches(key, known, 1, 0.4)
    return UsageError(
        f"{file}: {where}unknown key {key}",
        hint=f"did you mean {close[0]}?" if close else f"known: {', '.join(known)}",
    )


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value:
        raise UsageError(f"{where}: not a text")
    return value


def _flag(value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise UsageError(f"{where}: write true or false")
    return value


def _engine(value: Any, where: str) -> str:
    if value not in ENGINES:
        raise UsageError(f"{where}: write {' or '.join(ENGINES)}")
    return str(value)


def _settings(value: Any, where: str) -> dict[str, Value]:
    """Settings whose names have dots: ``a.b = 1`` and ``"a.b" = 1`` are the same."""
    found: dict[str, Value] = {}
    for key, below in _table(value, where).items():
        reference = _reference(below)
        if isinstance(below, dict) and reference is None:
            found |= {f"{key}.{rest}": deep for rest, deep in _settings(below, f"{where}.{key}").items()}
        else:
            found[key] = reference or _scalar(below, f"{where}.{key}")
    return found


def _options(value: Any, where: str) -> dict[str, Value]:
    """A store's options: a table is an object."""
    found: dict[str, Value] = {}
    for key, below in _table(value, where).items():
        place = f"{where}.{key}"
        found[key] = _structured(below, place) if isinstance(below, dict) else _scalar(below, place)
    return found


def _structured(value: Any, where: str) -> Any:
    """As ``Structure`` has it; other values keep their types, for JSON."""
    if isinstance(value, dict):
        return _reference(value) or Structure(
            {key: _structured(below, f"{where}.{key}") for key, below in value.items()}
        )
    for entry in value if isinstance(value, list) else [value]:
        _scalar(entry, where)
    return value


def _reference(value: Any) -> Reference | None:
    if isinstance(value, dict) and len(value) == 1:
        ((kind, place),) = value.items()
        if kind in _KINDS and isinstance(place, str) and place:
            return Reference(kind, place)
    return None


def _table(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"{where}: write a table of keys and values")
    return value


def _scalar(value: Any, where: str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str | int | float):
        raise UsageError(f"{where}: write a text, a number, true, false, {{ env = NAME }} or {{ file = PATH }}")
    return str(value)


def _placed(path: str, folder: str) -> str:
    """A path, unless it is a URI, from the folder of the configuration file."""
    return path if _SCHEME.match(path) else os.path.normpath(os.path.join(folder, os.path.expanduser(path)))


def _referenced_from(value: Any, folder: str) -> Any:
    if isinstance(value, Structure):
        return Structure({key: _referenced_from(below, folder) for key, below in value.values.items()})
    if isinstance(value, Reference) and value.kind == "file":
        return Reference("file", os.path.join(folder, os.path.expanduser(value.place)))
    return value


_READERS: dict[str, Callable[[Any, str], Any]] = {
    "uri": _text,
    "timezone": _text,
    "engine": _engine,
    "master": _text,
    "shared_filesystem": _flag,
    "props": _text,
    "storage_options": _options,
    "hoodie_conf": _settings,
    "spark_conf": _settings,
}
