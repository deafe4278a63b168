"""Which cases of a test the short form runs."""

from itertools import product
from types import SimpleNamespace
from typing import Any

from tests.conftest import covering


def cases(**parameters: list[Any]) -> list[Any]:
    """The product, as pytest has it."""
    found = [dict(zip(parameters, values, strict=True)) for values in product(*parameters.values())]
    return [SimpleItem(params) for params in found]


class SimpleItem:
    def __init__(self, params: dict[str, Any]) -> None:
        self.callspec = SimpleNamespace(params=params)


def test_each_value_of_each_parameter_comes_and_versions_take_turns() -> None:
    steps = ["begin", "hide", "delete", "end"]
    chosen = [case.callspec.params for case in covering(cases(version=["v6", "v9"], kind=["cow", "mor"], step=steps))]
    assert sorted(case["step"] for case in chosen) == sorted(steps)
    assert sorted(case["version"] for case in chosen) == ["v6", "v6", "v9", "v9"]
    assert sorted(case["kind"] for case in chosen) == ["cow", "cow", "mor", "mor"]


def test_no_case_of_a_list_is_left_out() -> None:
    listed = cases(damage=["lost", "cut", "empty"])
    assert covering(listed) == listed
