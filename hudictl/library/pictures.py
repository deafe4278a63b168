"""Pictures of a table: bars of its instants, and a page for a ticket."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from hudictl.library.opened import IDLE_MS, Opened, Times
from hudictl.library.options import chosen
from hudictl.secrets import masked
from hudictl.table.settings import SMALL_FILE_LIMIT

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from hudictl.reports.timeline_bars import Bars
    from hudictl.reports.timeline_report import TimelineReport
    from hudictl.table.settings import Settings


@dataclass(frozen=True)
class Pictures:
    """What happened when, and the state of the table beside it."""

    table: Opened

    def bars(
        self,
        actions: Sequence[str] = (),
        states: Sequence[str] = (),
        limit: int | None = None,
        *,
        metadata: bool = False,
        **times: "Unpack[Times]",
    ) -> "Bars":
        """The instants as bars, by action. ``metadata``: also those of the metadata table; ``limit``: the newest. Those
        in damaged files of the archive are missing, and ``damaged`` says which files."""
        from dataclasses import replace

        from hudictl.reports.timeline import instants_readable
        from hudictl.reports.timeline_bars import metadata_bars, timeline_bars

        core = self.table.core
        wanted = replace(self.table.instants(**times), **chosen(actions, states, limit))
        bars = timeline_bars(core, *instants_readable(core, wanted))
        return bars.above(metadata_bars(core, wanted)) if metadata else bars

    def report(
        self,
        settings: "Settings | None" = None,
        *,
        quick: bool = False,
        idle_ms: int = IDLE_MS,
        small_file_limit: int = SMALL_FILE_LIMIT,
        **times: "Unpack[Times]",
    ) -> "TimelineReport":
        """All that is on the page. ``problems`` are the parts that cannot be read.

        Args:
            settings: of the writers, by default those it was opened with; for missing ones Hudi's defaults hold.
            quick: list no data files: without findings and sizes.
        """
        from dataclasses import replace

        from hudictl.reports.timeline_report import ReportOptions, timeline_report

        wanted = replace(self.table.instants(**times), descending=False)
        options = ReportOptions(wanted, settings or self.table.settings, idle_ms, small_file_limit)
        engine = None if quick else self.table.engine
        return timeline_report(self.table.core, engine, options, self.table.access.note)

    def page(self, report: "TimelineReport") -> str:
        """It as HTML that opens without a network (``timeline report``)."""
        from hudictl import __version__
        from hudictl.render.timeline_page import html_page

        return html_page(report, __version__, partial(masked, secrets=self.table.access.secrets()))
