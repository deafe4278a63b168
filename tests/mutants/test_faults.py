"""The planted faults can be planted: they are kept in step with the code and the tests that they name."""

import ast

import pytest

from tests.mutants.fault import PACKAGE, Fault
from tests.mutants.faults import LISTS

FAULTS = [(name, number, fault) for name, faults in LISTS.items() for number, fault in enumerate(faults)]


@pytest.mark.parametrize("fault", [pytest.param(fault, id=f"{name}-{number}") for name, number, fault in FAULTS])
def test_each_can_be_planted_and_asks_tests_that_are_there(fault: Fault) -> None:
    text = fault.module.read_text()
    assert ast.dump(ast.parse(fault.planted(text))) != ast.dump(ast.parse(text))
    for asked in fault.asked():
        path, _, name = asked.partition("::")
        test = PACKAGE.parent / path
        assert test.exists()
        assert not name or f"def {name.partition('[')[0]}(" in test.read_text()
