"""An option that takes one value takes one: click would take the last, and drop the others without a word."""

import click
import pytest

from hudictl.cli.main import hudictl, run
from hudictl.cli.tree import every_command
from tests.cli.conftest import Tell
from tests.fixtures import Unpack
from tests.helpers import tree

SINGLE = [
    (name, max(option.opts, key=len))
    for name, command in every_command(hudictl)
    for option in command.params
    if isinstance(option, click.Option) and not (option.multiple or option.is_flag or option.count or option.is_eager)
]


@pytest.mark.parametrize(("name", "option"), SINGLE)
def test_each_option_with_one_value_is_refused_twice(
    name: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*name.split(), option, "1", f"{option}=2"]) == 2
    said = capsys.readouterr().err
    assert f"{option} is given 2 times" in said
    assert ("give it once, as --columns A,B" in said) == (option == "--columns")


def test_of_three_tables_no_savepoint_is_created(unpack: Unpack, capsys: pytest.CaptureFixture[str]) -> None:
    copies = [unpack(version, "cow_part") for version in ("v6", "v8", "v9")]
    before = [tree(copy.path) for copy in copies]
    tables = [word for copy in copies for word in ("-t", str(copy.path))]
    assert run(["savepoint", "create", *tables, "--yes", "--engine", "local"]) == 2
    assert "--table is given 3 times" in capsys.readouterr().err
    assert [tree(copy.path) for copy in copies] == before


@pytest.mark.usefixtures("default_engine")
@pytest.mark.parametrize("words", [["--yes", "--yes"], ["-q", "-q"], ["--conf", "a=1", "--conf", "b=2"]])
def test_flags_and_repeatable_options_may_be_given_again(words: list[str], unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    assert run(["savepoint", "create", "-t", str(copy.path), "--plan", *words]) == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("savepoint", "create", ""), "INSTANT"),
        (("restore", ""), "INSTANT"),
        (("undo", "drop", "20261121030250364", ""), "INSTANT"),
        (("restore", "--to-instant="), "--to-instant"),
        (("file", "slices", "--as-of", ""), "--as-of"),
    ],
)
def test_an_instant_that_is_empty(tell: Tell, unpack: Unpack, words: tuple[str, ...], said: str) -> None:
    """As a variable that is not set: the message would name nothing."""
    found = tell(*words, "-t", unpack("v9", "cow_part").path)
    assert (found.code, f"{said} is empty" in found.line) == (2, True)


def test_a_table_without_its_option_and_words_that_are_options(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_part")
    said = tell("table", "show", copy.path)
    assert (said.code, f"did you mean `--table={copy.path}`?" in said.err) == (2, True), said.err
    assert "see `hudictl table show --help`" in tell("table", "show", "elsewhere").err
    for word in ("help", "version"):
        said = tell(word)
        assert (said.code, f"did you mean `hudictl --{word}`?" in said.err) == (2, True), said.err
