"""The fewest steps of a walk that still fail alike."""

from dataclasses import replace
from pathlib import Path

from tests.interop.judge import Judge
from tests.walks.verdict import kind
from tests.walks.walk import Report, take


def shortened(hudi: Judge, report: Report, folder: Path) -> Report:
    """Leaves out one step after the other, from the end, while the walk fails in the same way."""
    for number in reversed(range(len(report.walk.steps))):
        steps = [step for at, step in enumerate(report.walk.steps) if at != number]
        tried = take(hudi, replace(report.walk, steps=steps), folder)
        if tried.problems and kind(tried.problems[0]) == kind(report.problems[0]):
            report = tried
    # The table that is left is that of the last walk.
    return take(hudi, report.walk, folder)
