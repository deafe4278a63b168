"""The index of a bootstrap: of each base file without its rows, the file outside of the table that has them."""

from collections.abc import Mapping
from typing import Any

from hudictl.formats import avro

SourceFile = tuple[str, int]
"""A source's URI, and its size in bytes."""


def decode_sources(body: bytes, what: str) -> dict[str, SourceFile]:
    """The sources of a partition by file id. Raises Unreadable."""
    return avro.decode(body, "HoodieBootstrapPartitionMetadata", what, _sources)


def _sources(fields: Mapping[str, Any]) -> dict[str, SourceFile]:
    found = {name: (file["path"]["uri"], file["length"]) for name, file in fields["fileIdToBootstrapFile"].items()}
    if not all(isinstance(uri, str) and isinstance(length, int) for uri, length in found.values()):
        raise TypeError("a source without path or length")
    return found
