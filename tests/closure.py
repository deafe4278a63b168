"""How much of the package a module stands on: ``python -m tests.closure hudictl/ops/restore`` counts it.

What somebody must know at most who changes it: all modules that its imports lead to, their lines and public classes.
"""

import ast
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent


def closure(start: Iterable[Path]) -> set[Path]:
    """The sources that some sources lead to by their imports, with these."""
    found, waiting = set[Path](), list(start)
    while waiting:
        source = waiting.pop()
        if source not in found:
            found.add(source)
            waiting += _imported(source)
    return found


def _imported(source: Path) -> Iterator[Path]:
    for node in ast.walk(ast.parse(source.read_text())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names if names and names[0].startswith("hudictl") else ():
            path = ROOT.joinpath(*name.split("."))
            yield from (file for file in (path.with_suffix(".py"), path / "__init__.py") if file.exists())


def figures(sources: Iterable[Path]) -> dict[str, int]:
    """Modules (without those that are a folder's name only), lines, public classes."""
    texts = [source.read_text() for source in sources if source.name != "__init__.py"]
    classes = (node.name for text in texts for node in ast.parse(text).body if isinstance(node, ast.ClassDef))
    return {
        "modules": len(texts),
        "lines": sum(text.count("\n") for text in texts),
        "public classes": sum(not name.startswith("_") for name in classes),
    }


def main() -> None:
    """Prints the figures of each folder or file that is named."""
    for name in sys.argv[1:] or ["hudictl/ops/restore"]:
        place = ROOT / name
        own = sorted(place.rglob("*.py")) if place.is_dir() else [place]
        print(f"{name}: {', '.join(f'{value:,} {what}' for what, value in figures(closure(own)).items())}")


if __name__ == "__main__":
    main()
