"""How a table merges the records of a file slice, by its properties. The merge itself: ``formats/record_merge.py``."""

from collections.abc import Mapping

from hudictl.errors import Unsupported
from hudictl.formats.record_merge import COMMIT_TIME, EVENT_TIME, FILL_UNAVAILABLE, IGNORE_DEFAULTS, MergeRule
from hudictl.formats.releases import V0_15
from hudictl.table.table import Table

MODE = "hoodie.record.merge.mode"
PAYLOAD = "hoodie.compaction.payload.class"
PARTIAL_MODE = "hoodie.table.partial.update.mode"
_STRATEGIES = ("hoodie.record.merge.strategy.id", "hoodie.compaction.record.merger.strategy")
_ORDERING = ("hoodie.table.ordering.fields", "hoodie.table.precombine.field")
_PROPERTY = "hoodie.record.merge.property."
_DELETE_KEY, _DELETE_MARKER = "hoodie.payload.delete.field", "hoodie.payload.delete.marker"
_UNAVAILABLE = "hoodie.write.partial.update.unavailable.value"

_MODEL = "org.apache.hudi.common.model."
_EVENT_PAYLOAD = f"{_MODEL}EventTimeAvroPayload"
_MODES = {
    f"{_MODEL}OverwriteWithLatestAvroPayload": COMMIT_TIME,
    f"{_MODEL}DefaultHoodieRecordPayload": EVENT_TIME,
    _EVENT_PAYLOAD: EVENT_TIME,
}
# Hudi's own mergers; 0.15 writes the first one whatever the payload.
_EVENT_STRATEGY, _COMMIT_STRATEGY = "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5", "ce9acb64-bde0-424c-9b91-f6ebba25356d"


def merge_rule(table: Table, release: str) -> MergeRule:
    """How a table merges, as a release does it. Raises Unsupported: by a payload class, merger, or mode that is not
    Hudi's plain event or commit time ordering."""
    properties = table.properties
    named = next((properties[key] for key in _ORDERING if properties.get(key)), "")
    ordering = tuple(name.strip() for name in named.split(",") if name.strip())
    fill = properties.get(PARTIAL_MODE) or None
    if fill not in (None, IGNORE_DEFAULTS, FILL_UNAVAILABLE):
        raise _unsupported(PARTIAL_MODE, fill)
    column, value, unavailable = (
        properties.get(_PROPERTY + key) for key in (_DELETE_KEY, _DELETE_MARKER, _UNAVAILABLE)
    )
    marker = (column, value) if column and value else None
    payloads = release == V0_15
    return MergeRule(
        release,
        _mode(properties) or (EVENT_TIME if ordering and not payloads else COMMIT_TIME),
        ordering,
        marker,
        fill=fill,
        unavailable=unavailable or "",
        deletes_win=payloads and properties.get(PAYLOAD) == _EVENT_PAYLOAD,
    )


def _mode(properties: Mapping[str, str]) -> str | None:
    """The mode that the properties name, or the payload class or merger does. Raises Unsupported."""
    mode = properties.get(MODE)
    if mode:
        if mode not in (COMMIT_TIME, EVENT_TIME):
            raise _unsupported(MODE, _described(mode, properties))
        return mode
    for key in _STRATEGIES:
        if properties.get(key, _EVENT_STRATEGY) not in (_EVENT_STRATEGY, _COMMIT_STRATEGY):
            raise _unsupported(key, properties[key])
    payload = properties.get(PAYLOAD)
    if payload and payload not in _MODES:
        raise _unsupported(PAYLOAD, payload)
    return _MODES[payload] if payload else None


def _described(mode: str, properties: Mapping[str, str]) -> str:
    by = properties.get(PAYLOAD) or properties.get(_STRATEGIES[0])
    return f"{mode} ({by})" if by else mode


def _unsupported(key: str, value: str) -> Unsupported:
    return Unsupported(
        f"hudictl does not know how to merge by {key}={value}",
        hint="without --merged the records of the blocks are shown one by one",
        property=key,
        value=value,
    )
