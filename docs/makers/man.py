"""The man pages: one for the program, and one for each command and group."""

import re
from collections.abc import Iterable, Iterator, Mapping
from textwrap import wrap

from hudictl import __version__
from makers.exit_codes import exit_codes
from makers.help import PROGRAM, CommandHelp, OptionHelp, Paragraph, every_help

_WIDTH = 78
_VARIABLES = {
    "HUDICTL_TABLE, HUDICTL_OUTPUT ...": "Most options of the commands have a variable: it stands beside the option.",
    "XDG_CONFIG_HOME": "The user's profiles are in hudictl/config.toml below it. Default: ~/.config.",
    "HUDICTL_DEBUG": "1: a bug shows its traceback.",
    "NO_COLOR": "Print without colours.",
}


def man_pages() -> dict[str, str]:
    """The pages, by their file's name."""
    helps = {help.name: help for help in every_help()}
    return {f"{_page(help.path)}.1": "\n".join(_lines(help, helps)) + "\n" for help in helps.values()}


def _lines(help: CommandHelp, helps: Mapping[str, CommandHelp]) -> Iterator[str]:
    page = _page(help.path)
    yield f'.TH "{page.upper()}" "1" "" "{PROGRAM} {__version__}" "{PROGRAM} manual"'
    # Names of variables are not broken, and nothing is stretched.
    yield from (".nh", ".ad l")
    yield ".SH NAME"
    yield f"{_roff(page)} \\- {_roff(help.summary.rstrip('.'))}"
    yield ".SH SYNOPSIS"
    yield _bold(help.path) + _roff(help.usage.removeprefix(help.path))
    yield ".SH DESCRIPTION"
    yield from _paragraphs(help.paragraphs)
    if help.below:
        yield ".SH COMMANDS"
        yield from _terms((_bold(name), helps[name].summary) for name in help.below)
    yield ".SH OPTIONS"
    yield from _terms((_names(option.names), _option(option)) for option in help.options)
    if help.examples:
        yield ".SH EXAMPLES"
        yield from _verbatim(help.examples)
    yield ".SH EXIT STATUS"
    if help.name:
        yield f"See {_reference('')}."
    else:
        yield from _terms((_bold(str(code)), meaning) for code, meaning in exit_codes())
        yield ".SH ENVIRONMENT"
        yield from _terms((_bold(names), said) for names, said in _VARIABLES.items())
    yield ".SH SEE ALSO"
    above = dict.fromkeys(("", help.name.rpartition(" ")[0])) if help.name else ()
    yield ",\n".join(map(_reference, (*above, *help.below)))


def _page(path: str) -> str:
    """``hudictl savepoint create`` is in ``hudictl-savepoint-create``."""
    return path.replace(" ", "-")


def _reference(name: str) -> str:
    """The page of a command."""
    return f"{_bold(_page(f'{PROGRAM} {name}'.rstrip()))}(1)"


def _names(text: str) -> str:
    """``-t, --table URI``: the names are bold, what stands for a value is not."""
    return re.sub(r"\S+", lambda word: _bold(word[0]) if word[0].startswith("-") else f"\\fI{_roff(word[0])}\\fR", text)


def _option(option: OptionHelp) -> str:
    facts = {"Required": "yes" * option.required, "Default": option.default, "Variable": option.variable}
    return " ".join((option.help, *(f"{name}: {fact}." for name, fact in facts.items() if fact)))


def _terms(terms: Iterable[tuple[str, str]]) -> Iterator[str]:
    for term, said in terms:
        yield from (".TP", term, *_text(said))


def _paragraphs(paragraphs: Iterable[Paragraph]) -> Iterator[str]:
    for number, paragraph in enumerate(paragraphs):
        yield from (".PP",) if number else ()
        yield from _verbatim(paragraph.text.splitlines()) if paragraph.verbatim else _text(paragraph.text)


def _verbatim(lines: Iterable[str]) -> Iterator[str]:
    yield from (".RS 4", ".nf", *map(_roff, lines), ".fi", ".RE")


def _text(text: str) -> Iterator[str]:
    """Short lines; none begins as a request does."""
    for line in wrap(_roff(text), _WIDTH, break_long_words=False, break_on_hyphens=False):
        yield "\\&" + line if line.startswith(".") else line


def _bold(text: str) -> str:
    return f"\\fB{_roff(text)}\\fR"


def _roff(text: str) -> str:
    """Text that roff prints as it is; code is bold."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return re.sub(r"`([^`]+)`", r"\\fB\1\\fR", text)
