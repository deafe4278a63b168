"""What the site has beside docs/: pages from elsewhere, with their links, and the types of all rows and results.

mkdocs calls these functions (``hooks`` in mkdocs.yml).
"""

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, get_args, get_type_hints

from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent.parent
PLACES = {
    "README.md": "index.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "SECURITY.md": "SECURITY.md",
    "benchmarks/README.md": "benchmarks.md",
}
"""The pages from elsewhere, and their places on the site."""
EXAMPLES = sorted(path for path in (ROOT / "examples").iterdir() if path.is_file())
ROOMS = ("hudictl.ops.", "hudictl.reports.", "hudictl.state.", "hudictl.table.operations")
"""Where these types are."""
INNER = ("access.py", "opened.py")
"""What no program uses."""
ROWS = "<!-- The types of rows, plans and results. -->"


def on_files(files: Files, config: Any) -> Files:
    """Adds the pages, a list of the schemas, and the examples."""
    for page, place in PLACES.items():
        files.append(File.generated(config, place, content=(ROOT / page).read_text(encoding="utf-8")))
    schemas = (f"- [{path.stem}](schemas/{path.name})\n" for path in sorted((ROOT / "docs/schemas").glob("*.json")))
    files.append(File.generated(config, "schemas.md", content=f"# Schemas of the JSON\n\n{''.join(schemas)}"))
    for path in EXAMPLES:
        files.append(File.generated(config, f"examples/{path.name}", content=path.read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, **_more: Any) -> str:
    """Leads links to where the pages are on the site, and fills in the types."""
    markdown = re.sub(r"\]\((?:\.\./)?docs/", "](", markdown).replace("](../examples/", "](examples/")
    markdown = re.sub(r"\]\(schemas/?\)", "](schemas.md)", markdown)
    for name, place in PLACES.items():
        markdown = re.sub(rf"\]\((?:\.\./)?{re.escape(name)}(?=[)#])", f"]({place}", markdown)
    return markdown.replace(ROWS, "\n".join(map(_block, described())) if ROWS in markdown else "")


def _block(kind: type) -> str:
    """Its fields are in its signature; properties are members."""
    shown = [name for name, found in vars(kind).items() if isinstance(found, property) and not name.startswith("_")]
    members = f"[{', '.join(shown)}]" if shown else "false"
    return f"::: {kind.__module__}.{kind.__qualname__}\n    options: {{members: {members}, heading_level: 3}}\n"


def described() -> list[type]:
    """The dataclasses that the library returns, and those in their fields and properties, by name."""
    sys.path.insert(0, str(ROOT))
    import hudictl

    waiting = [getattr(import_module(place), name) for place, _, name in (full.rpartition(".") for full in returned())]
    # The page has these already.
    public = [getattr(hudictl, name) for name in dir(hudictl)]
    found: set[type] = set()
    while waiting:
        kind = waiting.pop()
        known = not isinstance(kind, type) or kind in found or kind in public
        if known or not is_dataclass(kind) or not kind.__module__.startswith(ROOMS):
            continue
        found.add(kind)
        gets = (each.fget for each in vars(kind).values() if isinstance(each, property))
        hints = [hints_of(kind), *map(hints_of, filter(None, gets))]
        waiting += [part for hint in hints for value in hint.values() for part in parts_of(value)]
    return sorted(found, key=lambda kind: (kind.__name__, kind.__module__))


def hints_of(kind: Any) -> Mapping[str, Any]:
    """The types of a class's fields, or of what a property returns; none if only type checkers import them."""
    with suppress(NameError):
        return get_type_hints(kind)
    return {}


def parts_of(hint: Any) -> Iterator[Any]:
    """A type, and those inside it: ``tuple[InstantRow, ...] | None`` has InstantRow."""
    yield hint
    for inside in get_args(hint):
        yield from parts_of(inside)


def returned() -> Iterator[str]:
    """The full names of the types that the library returns; its own are on the page by their names."""
    for source in sorted(
        {*(ROOT / "hudictl/library").glob("*.py")} - {*map((ROOT / "hudictl/library").joinpath, INNER)}
    ):
        tree = ast.parse(source.read_text(encoding="utf-8"))
        places = {
            alias.name: f"{node.module}.{alias.name}"
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith(ROOMS)
            for alias in node.names
        }
        methods = (part for node in tree.body if isinstance(node, ast.ClassDef) for part in node.body)
        for method in methods:
            if isinstance(method, ast.FunctionDef) and method.returns and not method.name.startswith("_"):
                yield from (places[name] for name in re.findall(r"\w+", ast.unparse(method.returns)) if name in places)
