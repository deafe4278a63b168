"""Amounts for eyes."""

import pytest

from hudictl.phrases import count_of
from hudictl.render.words import size


@pytest.mark.parametrize(
    ("count", "said"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1024**2 * 3 // 2, "1.5 MiB"), (1024**4, "1024.0 GiB")],
)
def test_sizes(count: int, said: str) -> None:
    assert size(count) == said


@pytest.mark.parametrize(("count", "said"), [(0, "0 logs"), (1, "1 log"), (2, "2 logs"), (1234, "1,234 logs")])
def test_counts(count: int, said: str) -> None:
    assert count_of(count, "log") == said
