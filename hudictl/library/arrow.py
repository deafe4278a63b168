"""Rows as Arrow tables and data frames."""

import types
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin, get_type_hints

import pyarrow

from hudictl.errors import UsageError
from hudictl.render.json import plain

if TYPE_CHECKING:
    import pandas

_SIMPLE: Mapping[Any, pyarrow.DataType] = {
    bool: pyarrow.bool_(),
    int: pyarrow.int64(),
    float: pyarrow.float64(),
    str: pyarrow.string(),
}


def arrow_table(row_type: type[Any], rows: Iterable[Any]) -> pyarrow.Table:
    """The rows of a dataclass. What has no type of its own in Arrow is text, as in JSON."""
    hints = get_type_hints(row_type)
    fields = [(name, _type_of(hints[name])) for name in row_type.__dataclass_fields__]
    values = [{name: _value(getattr(row, name), kind) for name, kind in fields} for row in rows]
    return pyarrow.Table.from_pylist(values, schema=pyarrow.schema(fields))


def data_frame(table: pyarrow.Table) -> "pandas.DataFrame":
    """Raises UsageError: pandas is not installed."""
    try:
        return table.to_pandas()
    except ImportError as error:
        raise UsageError("pandas is not installed", hint="pip install pandas") from error


def _type_of(hint: Any) -> pyarrow.DataType:
    if get_origin(hint) in (Union, types.UnionType):
        kinds = [kind for kind in get_args(hint) if kind is not type(None)]
        return _type_of(kinds[0]) if len(kinds) == 1 else pyarrow.string()
    arguments = get_args(hint)
    if hint in _SIMPLE:
        return _SIMPLE[hint]
    origin = get_origin(hint)
    if isinstance(origin, type) and issubclass(origin, Sequence | frozenset) and arguments:
        return pyarrow.list_(_type_of(arguments[0]))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return pyarrow.map_(_type_of(arguments[0]), _type_of(arguments[1]))
    if hasattr(hint, "__dataclass_fields__"):
        hints = get_type_hints(hint)
        return pyarrow.struct([(name, _type_of(hints[name])) for name in hint.__dataclass_fields__])
    return pyarrow.string()


def _value(value: Any, kind: pyarrow.DataType) -> Any:
    """As the type has it: what is text in Arrow, and nothing simple here, is written as in JSON."""
    if value is None or (isinstance(value, (bool, int, float)) and kind != pyarrow.string()):
        return value
    if isinstance(value, str):
        return value
    if isinstance(value, Enum):
        return value.name
    if kind == pyarrow.string():
        return str(plain(value))
    if pyarrow.types.is_list(kind):
        entries = sorted(value) if isinstance(value, (set, frozenset)) else value
        return [_value(entry, kind.value_type) for entry in entries]
    if pyarrow.types.is_map(kind):
        return [(_value(key, kind.key_type), _value(entry, kind.item_type)) for key, entry in value.items()]
    return {part.name: _value(getattr(value, part.name), part.type) for part in kind}
