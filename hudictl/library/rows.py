"""Rows of one dataclass, as every list has them."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from hudictl.errors import HudictlError

if TYPE_CHECKING:
    import pandas
    import pyarrow

Row = TypeVar("Row", covariant=True)


@dataclass(frozen=True, eq=False)
class Rows(Generic[Row]):
    """Rows of a table, made as they are asked for. Each iteration looks at the table again: ``list(rows)`` keeps them.

    ``type`` is the rows' dataclass. ``notes`` are sentences about the rows; some are there only behind the last row.
    """

    type: type[Row]
    make: Callable[[], Iterable[Row]] = field(repr=False)
    notes: list[str] = field(default_factory=list)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.make())

    def kept(self) -> "Rows[Row]":
        """The same rows, looked at now, and kept; also what is raised behind the last one."""
        rows: list[Any] = []
        ended: list[HudictlError] = []
        try:
            rows.extend(self)
        except HudictlError as error:
            if not rows:
                raise
            ended.append(error)

        def again() -> Iterator[Any]:
            yield from rows
            if ended:
                raise ended[0]

        return replace(self, make=again)

    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows as the commands print them with ``--output json``."""
        from hudictl.render.json import plain

        return [plain(row) for row in self]

    def to_arrow(self) -> "pyarrow.Table":
        """The rows as an Arrow table: its schema is that of the dataclass, also where there are no rows."""
        from hudictl.library.arrow import arrow_table

        return arrow_table(self.type, self)

    def to_pandas(self) -> "pandas.DataFrame":
        """The rows as a data frame. Raises UsageError: pandas is not installed."""
        from hudictl.library.arrow import data_frame

        return data_frame(self.to_arrow())


def noted(row_type: type[Row], look: Callable[[list[str]], Iterable[Row]]) -> Rows[Row]:
    """Rows with notes: ``look`` gets the list of these."""
    notes: list[str] = []
    return Rows(row_type, lambda: look(notes), notes)
