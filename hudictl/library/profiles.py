"""Profiles: the settings of tables by names, from TOML files that are the operator's alone (docs/profiles.md)."""

import json
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from hudictl.errors import UsageError
from hudictl.secrets import hide_in_errors, looks_secret
from hudictl.trust import stranger_at

ENGINES = ("spark", "local")
LOCK_SETTINGS = ("hoodie.write.lock.", "hoodie.write.concurrency.")
MAPS = ("storage_options", "hoodie_conf", "spark_conf")
_SWITCHES = ("shared_filesystem", "keep_files")
_AGE = re.compile(r"[1-9]\d{0,5}[mhd]")
"""Never without a unit: a bare number would be seconds, and what is kept gone."""
_TEXTS = ("uri", "timezone", "engine", "master", "props")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
_LARGEST = 1024 * 1024


@dataclass(frozen=True)
class Profile:
    """The settings of a table. ``file`` is the configuration file. What is empty, the profile does not say. An age in
    ``keep_files`` is that of ``undo drop``.

    The values of the maps are as in TOML: ``{env = NAME}`` and ``{file = PATH}`` are references, which ``resolved``
    reads.
    """

    name: str
    file: str
    uri: str = ""
    timezone: str = ""
    engine: str = ""
    master: str = ""
    shared_filesystem: bool = False
    keep_files: bool | str = False
    props: str = ""
    storage_options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    hoodie_conf: Mapping[str, Any] = field(default_factory=dict, repr=False)
    spark_conf: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def where(self, key: str) -> str:
        """The place of a key, as errors say it."""
        return f"{self.file}: profile {self.name}: {key}"


def config_files(given: str = "") -> list[str]:
    """Where profiles are looked for: in the user's file, and in a ``given`` one, which wins."""
    home = os.environ.get("XDG_CONFIG_HOME", "")
    folder = home if os.path.isabs(home) else os.path.join(os.path.expanduser("~"), ".config")
    return [os.path.join(folder, "hudictl", "config.toml"), *([os.path.abspath(given)] if given else [])]


def read_profiles(given: str = "") -> dict[str, Profile]:
    """All profiles by name. One in a ``given`` file replaces the user's of this name as a whole.

    Raises UsageError: a file cannot be read, is wrong, or others can write it; there is none of this path.
    """
    found: dict[str, Profile] = {}
    for file in config_files(given):
        body = _read(file)
        if body is not None:
            found |= parse_profiles(body, file)
        elif given and file == os.path.abspath(given):
            raise UsageError(f"there is no configuration file {file}", hint="correct --config, or HUDICTL_CONFIG")
    return found


def profile_named(name: str, known: Mapping[str, Profile]) -> Profile:
    """Raises UsageError: there is none of this name."""
    if name not in known:
        raise UsageError(f"there is no profile {name}", hint=names_of(known))
    return known[name]


def names_of(known: Iterable[str]) -> str:
    """The hint that says which profiles there are."""
    return f"profiles: {', '.join(sorted(known)) or 'none'}; `hudictl config list` shows their files"


def _read(file: str) -> bytes | None:
    """Raises UsageError: it cannot be read, or is not the operator's alone."""
    try:
        # A pipe would never end.
        with open(os.open(file, os.O_RDONLY | os.O_NONBLOCK), "rb") as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise UsageError(f"cannot read {file}: not a regular file")
            stranger = stranger_at(file)
            if stranger is not None:
                raise UsageError(
                    f"{file} is not used: {stranger}",
                    hint="a configuration file and its folder must be root's or your own: chown it, and chmod go-w",
                )
            body = stream.read(_LARGEST + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}") from error
    if len(body) > _LARGEST:
        raise UsageError(f"{file} has more than {_LARGEST} bytes: not a configuration file")
    return body


def parse_profiles(body: bytes, file: str) -> dict[str, Profile]:
    """The profiles of a configuration file, by name.

    Args:
        file: its absolute path; relative paths in it begin at its folder.

    Raises:
        UsageError: not TOML, an unknown key, a value of another type.
    """
    document = _decoded(body, file)
    named = document.pop("profiles", {})
    for key in document:
        raise UsageError(f"{file}: unknown key {key}", hint="write a table for each profile: [profiles.NAME]")
    if not isinstance(named, dict):
        raise UsageError(f"{file}: profiles: write a table for each profile: [profiles.NAME]")
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
    """Values of another type are not shown: they may be secrets."""
    if not _NAME.fullmatch(name):
        raise UsageError(f"{file}: the profile {name!r}: a name has only letters, digits, _, - and .")
    if not isinstance(values, dict):
        raise UsageError(f"{file}: profiles.{name}: write a table: [profiles.{name}]")
    where = Profile(name, file).where
    for key, value in values.items():
        if key not in (*_TEXTS, *MAPS, *_SWITCHES):
            known = ", ".join((*_TEXTS, *_SWITCHES, *MAPS))
            raise UsageError(f"{file}: profile {name}: unknown key {key}", hint=f"known: {known}; see docs/profiles.md")
        if key in _TEXTS and not (isinstance(value, str) and value):
            raise UsageError(f"{where(key)}: not a text")
        if key in MAPS and not isinstance(value, dict):
            raise UsageError(f"{where(key)}: write a table of keys and values")
        if key in _SWITCHES:
            _refuse_no_switch(key, value, where(key))
        if key == "engine" and value not in ENGINES:
            raise UsageError(f"{where(key)}: write {' or '.join(ENGINES)}")

    placed = {key: _placed(values[key], file) for key in ("uri", "props") if key in values}
    flat = {key: _flat(values[key]) for key in ("hoodie_conf", "spark_conf") if key in values}
    return Profile(name, file, **{**values, **placed, **flat})


def _refuse_no_switch(key: str, value: Any, where: str) -> None:
    age = key == "keep_files"
    if not (isinstance(value, bool) or (age and isinstance(value, str) and _AGE.fullmatch(value))):
        raise UsageError(f'{where}: write true, false or an age, as "7d"' if age else f"{where}: write true or false")


def _placed(path: str, file: str) -> str:
    """A path, unless it is a URI, from the folder of the configuration file."""
    if _SCHEME.match(path):
        return path
    return os.path.normpath(os.path.join(os.path.dirname(file), os.path.expanduser(path)))


def _flat(values: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Settings whose names have dots: ``a.b = 1`` and ``"a.b" = 1`` are the same."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, dict) and not is_reference(value):
            found |= _flat(value, f"{above}{key}.")
        else:
            found[f"{above}{key}"] = value
    return found


def is_reference(value: Any) -> bool:
    """Whether a value of a map is ``{env = NAME}`` or ``{file = PATH}``."""
    if not isinstance(value, dict) or len(value) != 1:
        return False
    ((kind, place),) = value.items()
    return kind in ("env", "file") and isinstance(place, str) and bool(place)


def leaves(profile: Profile) -> Iterator[tuple[str, Any]]:
    """The texts and references of a profile's maps, by their keys."""

    def below(key: str, value: Any) -> Iterator[tuple[str, Any]]:
        if isinstance(value, dict) and not is_reference(value):
            for name, each in value.items():
                yield from below(f"{key}.{name}", each)
        elif isinstance(value, dict | str):
            yield key, value

    for key in MAPS:
        yield from below(key, getattr(profile, key))


def resolved(profile: Profile | None, key: str, secrets: set[str]) -> dict[str, str]:
    """The texts of one of a profile's maps. Those of references, which nothing may show, go to ``secrets``, too.

    A table in it, for a store's option that takes an object, becomes JSON.

    Raises UsageError: no such variable, a file that cannot be read, or a value that is neither a text nor a number.
    """
    found: dict[str, str] = {}
    if profile is None:
        return found
    for name, value in getattr(profile, key).items():
        # Plans and errors show a table's lock: where it is, is no secret.
        secret = not name.startswith(LOCK_SETTINGS) or looks_secret(name)
        text = _resolved(value, profile, f"{key}.{name}", secrets if secret else set())
        found[name] = _text(text, profile.where(f"{key}.{name}"))
    hide_in_errors(found, secrets)
    return found


def _text(value: Any, where: str) -> str:
    # A date of TOML has no JSON.
    with suppress(TypeError):
        if not isinstance(value, list):
            return value if isinstance(value, str) else json.dumps(value)
    raise UsageError(f"{where}: write a text, a number, true, false, {{ env = NAME }} or {{ file = PATH }}")


def _resolved(value: Any, profile: Profile, key: str, secrets: set[str]) -> Any:
    if is_reference(value):
        text = _referenced(value, profile, key)
        secrets.add(text)
        return text
    if isinstance(value, dict):
        return {name: _resolved(below, profile, f"{key}.{name}", secrets) for name, below in value.items()}
    if isinstance(value, list):
        return [_resolved(below, profile, key, secrets) for below in value]
    return value


def _referenced(value: Mapping[str, str], profile: Profile, key: str) -> str:
    """The variable, or the whole file without its last newline."""
    kind, place = place_of(value, profile)
    if kind == "env":
        text = os.environ.get(place, "")
        if not text:
            raise UsageError(f"{profile.where(key)}: the variable {place} is not set, or empty")
        return text
    try:
        with open(place, encoding="utf-8", newline="") as file:
            return file.read().removesuffix("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
        raise UsageError(f"{profile.where(key)}: cannot read the file {place}: {reason}") from None


def place_of(reference: Mapping[str, str], profile: Profile) -> tuple[str, str]:
    """``env`` and the variable, or ``file`` and the path: a relative one begins at the folder of the profile's file."""
    ((kind, place),) = reference.items()
    if kind == "file":
        place = os.path.join(os.path.dirname(profile.file), os.path.expanduser(place))
    return kind, place


def writers_settings_of(
    profile: Profile | None, storage_options: Mapping[str, str], secrets: set[str]
) -> dict[str, str]:
    """The settings of the table's writers: of the properties file, and single ones over them.

    Raises UsageError, NotFound, Unreadable, StorageFailed.
    """
    if profile is None:
        return {}
    from hudictl.table.config_file import read_settings

    read = read_settings(profile.props, storage_options) if profile.props else {}
    return read | resolved(profile, "hoodie_conf", secrets)
