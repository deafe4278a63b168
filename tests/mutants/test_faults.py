"""The planted faults can be planted: they are kept in step with the code and the tests that they name."""

import ast
import functools
from pathlib import Path

import pytest

from tests.mutants.fault import PACKAGE, Fault
from tests.mutants.faults import LISTS

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", LISTS)
def test_each_can_be_planted_and_asks_tests_that_are_there(name: str) -> None:
    """One test a list: there are hundreds of faults."""
    assert [why for fault in LISTS[name] if (why := wrong_with(fault))] == []


def wrong_with(fault: Fault) -> str:
    """Why a fault cannot be planted, or asked for; "" where it can."""
    text = read(fault.module)
    if text.count(fault.old) != 1:
        return f"{fault.file} has this {text.count(fault.old)} times, not once: {fault.old!r}"
    if ast.dump(ast.parse(fault.planted(text))) == meaning(fault.module):
        return f"{fault.file}: it changes nothing: {fault.new!r}"
    for asked in fault.asked():
        path, _, name = asked.partition("::")
        test = PACKAGE.parent / path
        if not test.exists() or (name and f"def {name.partition('[')[0]}(" not in read(test)):
            return f"no such test: {asked}"
    return ""


@functools.cache
def read(path: Path) -> str:
    return path.read_text()


@functools.cache
def meaning(module: Path) -> str:
    return ast.dump(ast.parse(read(module)))
