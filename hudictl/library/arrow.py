"""Rows as Arrow tables and data frames."""

import json
import types
from collections.abc import Iterable, Mapping, Sequence, Set
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
    """The rows of a dataclass. What has no type of its own in Arrow is text, as in JSON; so is the whole of a column in
    which a value does not fit, as a number beyond 64 bits."""
    hints, found = get_type_hints(row_type), list(rows)
    columns = {
        name: _column([getattr(row, name) for row in found], _type_of(hints[name]))
        for name in row_type.__dataclass_fields__
    }
    return pyarrow.table(columns)


def data_frame(table: pyarrow.Table) -> "pandas.DataFrame":
    """Raises UsageError: pandas is not installed."""
    try:
        import pandas
    except ImportError as error:
        raise UsageError("pandas is not installed", hint="pip install pandas") from error
    # By default a missing one makes floats of all integers of its column, without their last digits.
    exact = {pyarrow.int64(): pandas.Int64Dtype(), pyarrow.bool_(): pandas.BooleanDtype()}
    return table.to_pandas(types_mapper=exact.get)


def _column(values: Sequence[Any], kind: pyarrow.DataType) -> pyarrow.Array:
    try:
        return pyarrow.array([_value(value, kind) for value in values], kind)
    except (ArithmeticError, AttributeError, NotImplementedError, TypeError, ValueError):
        # Those of pyarrow are among these.
        return pyarrow.array([None if value is None else _text(value) for value in values], pyarrow.string())


def _type_of(hint: Any) -> pyarrow.DataType:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        kinds = [kind for kind in arguments if kind is not type(None)]
        return _type_of(kinds[0]) if len(kinds) == 1 else pyarrow.string()
    if hint in _SIMPLE:
        return _SIMPLE[hint]
    if isinstance(origin, type) and issubclass(origin, Sequence | Set):
        # A tuple of so many different things is no list.
        alike = {entry for entry in arguments if entry is not ...}
        return pyarrow.list_(_type_of(alike.pop())) if len(alike) == 1 else pyarrow.string()
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return pyarrow.map_(_type_of(arguments[0]), _type_of(arguments[1]))
    if hasattr(hint, "__dataclass_fields__"):
        hints = get_type_hints(hint)
        return pyarrow.struct([(name, _type_of(hints[name])) for name in hint.__dataclass_fields__])
    return pyarrow.string()


def _value(value: Any, kind: pyarrow.DataType) -> Any:
    if value is None:
        return None
    if kind == pyarrow.string():
        return _text(value)
    if pyarrow.types.is_list(kind):
        entries = sorted(value, key=_text) if isinstance(value, Set) else value
        return [_value(entry, kind.value_type) for entry in entries]
    if pyarrow.types.is_map(kind):
        return [(_value(key, kind.key_type), _value(entry, kind.item_type)) for key, entry in value.items()]
    if pyarrow.types.is_struct(kind):
        return {part.name: _value(getattr(value, part.name), part.type) for part in kind}
    return value


def _text(value: Any) -> str:
    """A text as it is, all else as in JSON. Names that are not UTF-8 have their bytes as escapes."""
    said = value if isinstance(value, str) and not isinstance(value, Enum) else plain(value)
    text = said if isinstance(said, str) else json.dumps(said)
    return text.encode("utf-8", "backslashreplace").decode()
