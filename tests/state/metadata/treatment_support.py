"""What the tests of treatment share with others."""

from hudictl.state.facts import Facts, read_facts, read_signs
from hudictl.table.metadata.listing import read_known
from tests.helpers import (
    ENGINE,
    Copy,
)


def facts_of(copy: Copy) -> Facts:
    table = copy.table
    return read_facts(table, ENGINE, read_signs(table), known=read_known(table, ENGINE))
