"""Parts of sentences: what is said of many names, and of ages."""

import pytest

from hudictl.cli.main import hudictl
from hudictl.phrases import command_of, first_few, printable, seconds, span
from tests.helpers import through_shell

NAMES = ["a", "b", "c"]


@pytest.mark.parametrize(
    ("most", "said"), [(1, "a and 2 more"), (2, "a, b and 1 more"), (3, "a, b, c"), (4, "a, b, c")]
)
def test_the_first_names_are_said_and_how_many_others_there_are(most: int, said: str) -> None:
    assert first_few(NAMES, most=most, rest=" and {} more") == said


def test_others_are_counted_as_the_sentence_wants_them() -> None:
    assert first_few(NAMES * 1000, most=1, rest=" and {:,} more") == "a and 2,999 more"
    assert first_few(NAMES, most=2, rest="; and {} more", between="; ") == "a; b; and 1 more"
    assert first_few(NAMES * 2) == "a, b, c, a, b"
    assert first_few([]) == ""


def test_names_are_never_taken_for_a_form() -> None:
    assert first_few(["{}", "{0}", "x"], most=2, rest=" and {} more") == "{}, {0} and 1 more"


@pytest.mark.parametrize(
    ("milliseconds", "said"), [(-1, "0 s"), (0, "0 s"), (999, "0 s"), (1000, "1 s"), (3_600_000, "3600 s")]
)
def test_ages_are_whole_seconds(milliseconds: int, said: str) -> None:
    assert seconds(milliseconds) == said


@pytest.mark.parametrize(
    ("milliseconds", "said"),
    [
        (1500, "1 s"),
        (119_999, "119 s"),
        (120_000, "2 min"),
        (7_199_999, "119 min"),
        (7_200_000, "2 h"),
        (172_799_999, "47 h"),
        (172_800_000, "2 d"),
    ],
)
def test_a_span_is_in_the_largest_unit_of_which_there_are_two(milliseconds: int, said: str) -> None:
    assert span(milliseconds) == said


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a b-\xe9\u8868\U0001f600[red]$(id)", None),
        ("a\nb\r\tc", r"a\nb\r\tc"),
        ("\x1b[31m\x07\x08\x00\x7f", r"\x1b[31m\x07\x08\x00\x7f"),
        ("\x9b31m\x85", r"\x9b31m\x85"),
        ("\u202e\u2066\u200f\u061c\u200b\ufeff", r"\u202e\u2066\u200f\u061c\u200b\ufeff"),
        ("\u2028\u2029", r"\u2028\u2029"),
        ("\ud800\udcff", r"\ud800\udcff"),
        ("\U000e0041\ue000", r"\U000e0041\ue000"),
    ],
)
def test_what_a_terminal_would_obey_is_escaped(text: str, shown: str | None) -> None:
    assert printable(text) == (text if shown is None else shown)


NAMED_BADLY = (
    *("$(id)", "`id`", "a b;c", "1; touch PWNED #", "it's", 'say "so"', "back\\slash", "~", "*", "!!", "${HOME}"),
    *("-", "--", "-y", "--yes", "--help", "-x'y", "line\nend", "\x1b[31mred", "\u202egpj", "\u2028", "\x9b3", "\x7f"),
    *("'\x1b\\'f0", "\x1bf0", "-\x1b", "gr\xf6\xdfe", "\xa0", "\udcff\udc80a", "\U000e0041"),
)


@pytest.mark.parametrize("name", NAMED_BADLY, ids=ascii)
def test_a_command_reaches_hudictl_as_it_is_meant(name: str) -> None:
    """Through a shell, and through click: the name is the one argument, and nothing else."""
    command = command_of("savepoint show", name, options=["--verify"])
    assert command.isprintable()
    verb = through_shell(command)
    assert verb[:2] == ["savepoint", "show"]
    group = hudictl.commands["savepoint"].commands["show"]  # type: ignore[attr-defined]
    context = group.make_context("show", ["-t", "a table", *verb[2:]])
    assert (context.params["instant"], context.params["verify"]) == (name, True)


@pytest.mark.parametrize("name", NAMED_BADLY, ids=ascii)
def test_an_options_value_is_its_own(name: str) -> None:
    verb = through_shell(command_of("restore", options=[f"--to-instant={name}"]))
    assert (
        hudictl.commands["restore"].make_context("restore", ["-t", "a table", *verb[1:]]).params["to_instant"] == name
    )


def test_half_a_pair_that_no_file_has_is_no_fault() -> None:
    assert command_of("rollback", "\ud800").isprintable()


def test_a_usual_name_is_not_quoted() -> None:
    assert command_of("rollback", "20261121030630000") == "hudictl rollback 20261121030630000"
