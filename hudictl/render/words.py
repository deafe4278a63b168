"""Amounts as text, for the lines of several commands."""


def size(count: int) -> str:
    """A number of bytes with its unit."""
    amount = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024 or unit == "GiB":
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    raise AssertionError


def age(milliseconds: int) -> str:
    """A time span for a table, as 3d, 22h, 5m, 45s, 1.2s or 350ms: rounded down, so that it never looks older."""
    for unit, length_ms in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000)):
        if milliseconds >= 2 * length_ms:
            return f"{milliseconds // length_ms}{unit}"
    if milliseconds >= 10_000:
        return f"{milliseconds // 1000}s"
    return f"{milliseconds // 100 / 10}s" if milliseconds >= 1000 else f"{milliseconds}ms"
