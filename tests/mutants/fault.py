"""What a planted fault is, and where it goes."""

from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "hudictl"


@dataclass(frozen=True)
class Fault:
    """One change of the code that makes it wrong.

    ``old`` stands exactly once in ``file`` (a path below ``hudictl/``) and is replaced by ``new``. ``harm`` says what
    would happen to a table. The tests that mirror the file must fail with it; ``tests`` names others instead: files,
    folders or single tests below ``tests/``.
    """

    file: str
    old: str
    new: str
    harm: str
    tests: tuple[str, ...] = ()

    @property
    def module(self) -> Path:
        return PACKAGE / self.file

    def planted(self, text: str) -> str:
        """The file's text with the fault; ValueError where ``old`` does not stand in it exactly once."""
        if text.count(self.old) != 1:
            raise ValueError(f"{self.file} has this {text.count(self.old)} times, not once: {self.old!r}")
        return text.replace(self.old, self.new)

    def asked(self) -> tuple[str, ...]:
        """The tests that must notice it: those named, or the test of the module, or the folder that mirrors its own."""
        if self.tests:
            return tuple(f"tests/{test}" for test in self.tests)
        path = Path("tests") / self.file
        test = path.with_name(f"test_{path.name}")
        root = PACKAGE.parent
        return (str(test if (root / test).exists() else next(p for p in path.parents if (root / p).is_dir())),)
