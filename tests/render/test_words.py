"""Amounts for eyes."""

import pytest

from hudictl.phrases import count_of
from hudictl.render.words import age, size


@pytest.mark.parametrize(
    ("count", "said"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1024**2 * 3 // 2, "1.5 MiB"), (1024**4, "1024.0 GiB")],
)
def test_sizes(count: int, said: str) -> None:
    assert size(count) == said


@pytest.mark.parametrize(("count", "said"), [(0, "0 logs"), (1, "1 log"), (2, "2 logs"), (1234, "1,234 logs")])
def test_counts(count: int, said: str) -> None:
    assert count_of(count, "log") == said


@pytest.mark.parametrize(
    ("milliseconds", "said"),
    [
        (0, "0ms"),
        (999, "999ms"),
        (1239, "1.2s"),
        (9_999, "9.9s"),
        (10_000, "10s"),
        (119_999, "119s"),
        (5 * 60_000 + 59_000, "5m"),
        (22 * 3_600_000, "22h"),
        (47 * 3_600_000, "47h"),
        (3 * 86_400_000, "3d"),
        (1000 * 86_400_000, "1000d"),
    ],
)
def test_ages_have_one_short_form(milliseconds: int, said: str) -> None:
    assert age(milliseconds) == said
