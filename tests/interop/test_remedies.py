"""After the commands that ``check`` names, the real Hudi does with a damaged table what it does with a sound one."""

from collections.abc import Callable
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path

import pytest

from hudictl.cli.main import run as run_command
from hudictl.table.open import open_table
from hudictl.table.table import MERGE_ON_READ
from tests import support
from tests.damage.cases import outcomes
from tests.damage.harms import do_harm
from tests.damage.remedies import as_operator, findings, mended
from tests.interop.judge import Judge
from tests.interop.make_damages import FAILED, did, idle_steps

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]
BACK = ("restore", "rollback", "failed-writes", "resume")
"""Commands that take rows back, as their plans say."""


def run(*words: str, base: Path) -> tuple[int, str]:
    said = StringIO()
    with redirect_stderr(said):
        code = run_command([*as_operator(words, base), "--engine", "local"])
    return code, said.getvalue()


@pytest.mark.short("v6-cow_cleaned-clean-cut", "v8-mor_part-deltacommit-cut", "v9-mor_part-deltacommit-flipped")
@pytest.mark.parametrize(
    ("version", "name", "kind", "harm"),
    [
        pytest.param(version, case["table"], case["kind"], case["harm"])
        for version in support.VERSIONS
        for case in outcomes(version)["cases"]
        if not case["kind"].startswith(("marker", "heartbeat", "metadata-index"))
    ],
)
def test_hudi_goes_on(judge: Judges, version: str, name: str, kind: str, harm: str, tmp_path: Path) -> None:
    known = outcomes(version)
    (case,) = [one for one in known["cases"] if (one["table"], one["kind"], one["harm"]) == (name, kind, harm)]
    sound = known["sound"][name]
    before = {entry[:2] for entry in findings(support.unpack(version, name, tmp_path / "sound"))}
    base = support.unpack(version, name, tmp_path)
    do_harm(base, case["path"], harm)
    ended = mended(run, base, before)
    if not ended.commands or ended.left:
        pytest.skip("no command, or it is left to the operator: the unit tests say so")
    found = did(lambda: judge(version), base, sound["rows"], idle_steps(kind))
    right = {step: sound["hudi"][step] for step in found}
    if any(word in command for command, _ in ended.commands for word in BACK):
        found, right = ({s: what.startswith(FAILED) for s, what in of.items()} for of in (found, right))
    assert found == right
    mor = open_table(str(base)).properties["hoodie.table.type"] == MERGE_ON_READ
    if mor and not any(what is True or str(what).startswith(FAILED) for what in found.values()):
        rows = judge(version).rows(base)
        judge(version).compact(base)
        assert judge(version).both_rows(base) == rows
