"""Every command, and every option with its value, that refusals, hints and remedies name: none is a usage error."""

import re
import shlex
import shutil
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

from tests import support
from tests.cli.conftest import Tell, Unpack
from tests.cli.options_support import takes
from tests.damage.cases import chosen
from tests.damage.harms import do_harm
from tests.helpers import Copy

pytestmark = pytest.mark.slow

LOCAL = ("--engine", "local")
_COMMAND = re.compile(r"`(hudictl [^`]+)`|\"command\": \"(hudictl [^\"]+)\"")
_OPTION = re.compile(r"(--[a-z][a-z-]+)(?:[= ]([\w.:=+-]*[a-z0-9=][\w.:=+-]*))?")
_OTHERS = {"--mode", "--index-types", "--instant-time"}
"""Of Hudi's own tools."""
_WORDS = {"to", "of", "is", "if", "are", "or", "and", "in", "must", "has", "have", "without", "it", "the", "shows"}
"""That follow an option in a sentence: no value of it."""
_TRIED: set[str] = set()
"""Commands by their form, with all times alike: the same form of another table is the same to click."""


def without_usage_error(tell: Tell, words: list[str]) -> bool:
    """Whether a command line can be run; one that was tried counts."""
    if "--plan" in takes(words) and "--plan" not in words:
        words = [*words, "--plan"]
    form = re.sub(r"\d+", "9", " ".join(word for word in words if not word.startswith("--table=")))
    if form in _TRIED:
        return True
    _TRIED.add(form)
    return tell(*words).code != 2


def wrong(tell: Tell, asked: list[str]) -> Iterator[str]:
    """What a command line names that is a usage error. The options in a refusal are its own; those in what
    `savepoint show` says are of the restore."""
    said = tell(*asked, "-o", "json")
    hint = said.error["hint"] if said.err else ""
    verified = asked[:2] == ["savepoint", "show"]
    refused = ["restore", asked[2], *LOCAL, *asked[-2:]] if verified else asked
    for name, value in _OPTION.findall(_COMMAND.sub("", hint)):
        has_value = takes(refused).get(name)
        tried = has_value and value and value not in _WORDS
        if has_value is None and name not in _OTHERS:
            yield f"{' '.join(asked)}: {name} in: {hint}"
        elif tried and not without_usage_error(tell, [*refused, f"{name}={value}"]):
            yield f"{' '.join(asked)}: {name}={value}"
    for command in filter(None, chain.from_iterable(_COMMAND.findall(said.out + hint))):
        if not without_usage_error(tell, shlex.split(command)[1:]):
            yield f"{' '.join(asked)}: {command}"


def asked_of(copy: Copy) -> Iterator[list[str]]:
    """What names commands: looks, plans, and targets that are refused."""
    target = max(copy.savepoints, default=copy.commits[0])
    plan = ["--plan", "--idle", "0s", *LOCAL]
    yield from ([*words.split(), *LOCAL] for words in ("table show", "failed-writes list", "check", "metadata verify"))
    yield from (["rollback", time, *plan] for time in (copy.commits[0], copy.commits[-1], "1"))
    yield from (["restore", *words, *plan] for words in ([target], [copy.commits[0]], ["--to-instant", target]))
    yield from ([*words.split(), *plan] for words in ("resume", "resume --withdraw", "savepoint create"))
    yield from ([*words.split(), *plan] for words in ("failed-writes clean", "orphans delete", "metadata drop"))
    yield ["savepoint", "show", target, "--verify", *LOCAL]
    yield ["why", "archive", "--assume-defaults"]


def all_wrong(tell: Tell, copy: Copy, path: Path) -> list[str]:
    return [found for words in asked_of(copy) for found in wrong(tell, [*words, "-t", str(path)])]


@support.ONE_OF_EACH_KIND
@pytest.mark.parametrize(("version", "name"), support.every_table())
def test_of_every_table(unpack: Unpack, tell: Tell, version: str, name: str) -> None:
    copy = unpack(version, name)
    assert all_wrong(tell, copy, copy.path) == []


@pytest.mark.short("v6-mor_savepoints", "v9-cow_part")
@pytest.mark.parametrize(("version", "name"), support.every_table())
def test_of_every_damage(tell: Tell, version: str, name: str, tmp_path: Path) -> None:
    sound = Copy(version, name, support.unpack(version, name, tmp_path / "sound"))
    for case in (case for case in chosen(version) if case.table == name):
        base = support.unpack(version, name, tmp_path / "damaged")
        do_harm(base, case.path, case.harm)
        assert all_wrong(tell, sound, base) == [], case.words
        shutil.rmtree(tmp_path / "damaged")


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("resume", "`hudictl failed-writes clean --never`"),
        ("resume", "`hudictl rollback`"),
        ("resume", "use --policy lazy"),
        ("failed-writes clean", "use --policy never"),
    ],
)
def test_what_is_wrong_is_found(tell: Tell, monkeypatch: pytest.MonkeyPatch, words: str, hint: str) -> None:
    """Else the tests above could not fail."""
    from hudictl.cli import options
    from hudictl.errors import Refused

    def refused(*_: object, **__: object) -> None:
        raise Refused("no", hint=hint)

    monkeypatch.setattr(options.TableOptions, "open", refused)
    assert list(wrong(tell, [*words.split(), "-t", "x"]))
