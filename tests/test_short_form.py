"""Which cases of a test the short form runs."""

import re
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.conftest import MARKED, ROOMS, covering
from tests.support import VERSIONS


def test_what_is_collected_alone_is_all_in_its_room() -> None:
    files = {path: path.read_text() for path in Path(__file__).parent.rglob("*.py")}
    for mark, room in ROOMS.items():
        found = [path for path, text in files.items() if re.search(rf"mark\.{mark}\b", text)]
        assert found
        assert [path for path in found if room not in path.parents] == []


def test_what_is_not_collected_has_the_mark() -> None:
    for mark, room in MARKED.items():
        marks = re.compile(rf"mark\.{mark}\b")
        whole = marks.search((room / "conftest.py").read_text()) if (room / "conftest.py").exists() else None
        assert [path for path in room.rglob("test_*.py") if not whole and not marks.search(path.read_text())] == []


def cases(**parameters: list[Any]) -> list[Any]:
    """The product, as pytest has it."""
    found = [dict(zip(parameters, values, strict=True)) for values in product(*parameters.values())]
    return [SimpleItem(params) for params in found]


class SimpleItem:
    def __init__(self, params: dict[str, Any]) -> None:
        self.callspec = SimpleNamespace(params=params)


def test_each_value_of_each_parameter_comes_and_versions_take_turns() -> None:
    steps = ["begin", "hide", "delete", "end"]
    product = cases(version=["v6", "v9"], kind=["cow", "mor"], step=steps)
    for turn in range(len(product)):
        chosen = [case.callspec.params for case in covering(product, turn, VERSIONS)]
        assert sorted(case["step"] for case in chosen) == sorted(steps)
        assert sorted(case["version"] for case in chosen) == ["v6", "v6", "v9", "v9"]
        assert sorted(case["kind"] for case in chosen) == ["cow", "cow", "mor", "mor"]


def test_no_case_of_a_list_is_left_out() -> None:
    listed = cases(damage=["lost", "cut", "empty"])
    assert covering(listed, 0) == listed
    assert sorted(covering(listed, 1), key=listed.index) == listed


def test_each_version_comes_where_they_do_not_take_turns() -> None:
    product = cases(version=["v6", "v9"], kind=["cow", "mor"], store=["moves", "copies"])
    for turn in range(len(product)):
        chosen = [case.callspec.params for case in covering(product, turn)]
        assert sorted(case["version"] for case in chosen) == ["v6", "v9"]
        assert {case["kind"] for case in chosen} == {"cow", "mor"}
        assert {case["store"] for case in chosen} == {"moves", "copies"}


def test_of_versions_alone_one_comes_by_turns() -> None:
    both = cases(version=["v6", "v9"])
    assert [covering(both, turn, VERSIONS) for turn in range(2)] == [both[:1], both[1:]]
