"""Every command that ``check`` names for every damage is run: then the damage is no finding any more, and ``undo``
brings it back."""

import shutil
from pathlib import Path

import pytest

from hudictl.table.kept import room_times
from hudictl.table.open import open_table
from tests import support
from tests.cli.conftest import Tell
from tests.damage.by_hand import BY_HAND, MOST
from tests.damage.cases import chosen
from tests.damage.harms import do_harm
from tests.damage.remedies import as_operator, findings, mended
from tests.helpers import OWN, tree

pytestmark = pytest.mark.slow


@pytest.mark.short(
    *("v6-cow_cleaned", "v6-mor_part", "v6-mor_restore_interrupted", "v8-cow_savepoints", "v8-mor_part"),
    *("v9-cow_part", "v9-mor_pending_compaction", "v9-cow_clustering", "v9-nested_partitions", "v9-cow_cdc"),
)
@pytest.mark.parametrize(("version", "name"), support.every_table())
def test_it_ends_the_finding(tell: Tell, version: str, name: str, tmp_path: Path) -> None:
    before = {entry[:2] for entry in findings(support.unpack(version, name, tmp_path / "sound"))}

    def run(*words: str, base: Path) -> tuple[int, str]:
        said = tell(*as_operator(words, base))
        return said.code, said.err

    wrong = []
    for case in (case for case in chosen(version) if case.table == name):
        base = support.unpack(version, name, tmp_path / "damaged")
        do_harm(base, case.path, case.harm)
        damaged = files(base)
        ended = mended(run, base, before)
        if bool(ended.left) is not (case.words in BY_HAND):
            wrong.append(f"{case.words}: {ended.commands}: {ended.left}")
        for number in sorted(room_times(open_table(str(base))), reverse=True):
            assert run("undo", number, base=base)[0] == 0, f"{case.words}: {ended.commands}"
        if files(base) != damaged and not any(" savepoint create " in command for command, _ in ended.commands):
            wrong.append(f"{case.words}: {ended.commands}: undo leaves another table")
        shutil.rmtree(tmp_path / "damaged")
    assert not wrong, "\n".join(wrong)


def files(base: Path) -> dict[str, object]:
    """Without folders that are empty: nobody needs them."""
    return {path: found for path, found in tree(base, OWN).items() if not (base / path).is_dir()}


def test_few_end_by_hand() -> None:
    every = {case.words for version in support.VERSIONS for case in chosen(version)}
    assert BY_HAND.keys() <= every
    assert len(BY_HAND) <= MOST * len(every)
