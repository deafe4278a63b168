"""Parts of sentences for the messages of all rooms: the first few of many names, counts, ages; names of a table as a
terminal and a shell may have them."""

import shlex
from collections.abc import Sequence

SEE_CHECK = "`hudictl check` names what is damaged, and the command that mends it, if there is one"


def first_few(names: Sequence[str], *, most: int = 5, rest: str = "", between: str = ", ") -> str:
    """The first of some names. ``rest``, for example " and {} more", gives the number of other names, if any."""
    others = len(names) - most
    return between.join(names[:most]) + (rest.format(others) if others > 0 else "")


def seconds(milliseconds: int) -> str:
    """An age in whole seconds, rounded down, as limits in seconds are compared with it. What is younger than now, by
    clocks that differ, is of now."""
    return f"{max(0, milliseconds) // 1000} s"


def span(milliseconds: int) -> str:
    """A duration as text, in the largest unit with a value of at least two."""
    for unit, length_ms in (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000)):
        if milliseconds >= 2 * length_ms:
            return f"{milliseconds // length_ms} {unit}"
    return seconds(milliseconds)


def count_of(count: int, noun: str) -> str:
    """A count with its noun, singular or plural."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def printable(text: str) -> str:
    """A text as one line that controls no terminal: all signs are escaped that no terminal shows, as line ends, ESC,
    and those that turn the direction of what follows."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


def command_of(words: str, *values: str, options: Sequence[str] = ()) -> str:
    """A command of hudictl to copy into a shell. All that a table says is in ``values`` and ``options``: quoted, and a
    value with ``-`` at its beginning is no option.

    Args:
        words: the command, for example "savepoint delete".
        options: each one word, with ``=`` before its value.
    """
    like_option = any(value.startswith("-") for value in values)
    rest = (*options, "--", *values) if like_option else (*values, *options)
    return " ".join(["hudictl", words, *map(quoted, rest)])


def gone(*, kept: bool) -> str:
    """The end of a question before files are deleted, or kept."""
    return "`hudictl undo` brings the files back." if kept else "Deleted files cannot be recovered."


def undo_text(*undos: str | None) -> str:
    """The end of a result: how to go back, if the files are kept; of several operations, in the order of the undos."""
    commands = ", then ".join(f"`{command_of('undo', undo)}`" for undo in undos if undo)
    return f"; until the table is changed again, {commands} brings all back" if commands else ""


def quoted(word: str) -> str:
    """One word for bash and zsh. Signs that a terminal would not show are escaped, so that also the name of a file
    that has them can be copied. So are backquotes: in sentences, commands stand between them."""
    if word.isprintable() and "`" not in word:
        return shlex.quote(word)
    return "$'" + "".join(sign if sign.isprintable() and sign not in "'\\`" else _bytes(sign) for sign in word) + "'"


def _bytes(sign: str) -> str:
    # Bytes of a file's name that are no UTF-8 are halves of surrogate pairs in Python.
    alone = "\udc80" <= sign <= "\udcff"
    return "".join(f"\\x{byte:02x}" for byte in sign.encode(errors="surrogateescape" if alone else "surrogatepass"))
