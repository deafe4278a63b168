"""The man pages, which the wheel takes along: made from the commands when it is built."""

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ManPages(BuildHookInterface):  # type: ignore[misc,type-arg]
    """Named in pyproject.toml."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Writes the pages, and has them put where ``man`` looks for them: beside the program's folder."""
        if version == "editable":
            return
        sys.dont_write_bytecode = True
        sys.path[:0] = [self.root, f"{self.root}/docs"]
        from makers.man import man_pages

        self._folder = tempfile.TemporaryDirectory()
        for name, text in man_pages().items():
            page = Path(self._folder.name, name)
            page.write_text(text, encoding="utf-8")
            build_data["shared_data"][str(page)] = f"share/man/man1/{name}"

    def finalize(self, version: str, _build_data: dict[str, Any], _artifact_path: str) -> None:
        """Removes them."""
        if version != "editable":
            self._folder.cleanup()
