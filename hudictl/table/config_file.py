"""Configuration files of Hudi's writers, which the operator names."""

import posixpath
from collections.abc import Mapping

from hudictl.errors import NotFound, Unreadable
from hudictl.formats.limits import PROPERTIES_BYTES
from hudictl.formats.properties import decode_config
from hudictl.storage import read_whole
from hudictl.storage.open import open_storage


def read_settings(uri: str, options: Mapping[str, str]) -> dict[str, str]:
    """A configuration file of Hudi's, with those that it includes; a later key wins.

    Args:
        uri: a path, or a URI that fsspec knows.
        options: fsspec's options for the store.

    Raises:
        NotFound, Unreadable, StorageFailed.
    """
    return _read_settings(uri, options, ())


def _read_settings(uri: str, options: Mapping[str, str], above: tuple[str, ...]) -> dict[str, str]:
    if uri in above:
        raise Unreadable(f"{uri} includes itself", file=uri)
    folder, name = posixpath.split(uri)
    try:
        body = read_whole(open_storage(folder or ".", "", options), name, PROPERTIES_BYTES)
        pairs = decode_config(body)
    except FileNotFoundError as error:
        raise NotFound(f"{uri}: no such file", hint="specify a file with Hudi's settings") from error
    except ValueError as error:
        raise Unreadable(f"{uri} is not text: {error}", file=uri) from error
    settings: dict[str, str] = {}
    for key, value in pairs:
        if key == "include":
            included = value if ":" in value or value.startswith("/") else posixpath.join(folder, value)
            settings |= _read_settings(included, options, (*above, uri))
        else:
            settings[key] = value
    return settings
