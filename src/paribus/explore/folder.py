"""The files that can be opened: those of one folder, and nothing outside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from paribus.output.report.reading import is_report

TABLES = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz", ".parquet")
TABLE, MODEL, REPORT = "table", "model", "report"
"""What can be opened."""
# The maximum number of files that are listed; others can be named when starting.
MAX_FILES = 500


def kind_of(path: Path) -> str:
    """What a file is, by its name."""
    name = path.name.lower()
    return MODEL if name.endswith(".paribus") else REPORT if name.endswith((".html", ".htm")) else TABLE


class Folder:
    """A folder whose tables, models and reports can be opened."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()

    def files(self) -> list[dict[str, Any]]:
        """The tables, models and reports of the folder, by name, with their sizes in bytes."""
        found = []
        for path in sorted(self.root.iterdir(), key=lambda path: path.name.lower()):
            if path.name.startswith(".") or path.name.lower().endswith(".known.csv"):
                continue
            kind = kind_of(path)
            if kind == TABLE and not path.name.lower().endswith(TABLES):
                continue
            if path.is_file() and self._is_inside(path) and (kind != REPORT or is_report(path)):
                found.append({"name": path.name, "size": path.stat().st_size, "kind": kind})
        return found[:MAX_FILES]

    def find(self, name: str) -> Path:
        """The file with this name. Raises an error for anything outside the folder."""
        if name not in {each["name"] for each in self.files()}:
            raise ValueError(f"there is no table, model or report '{name}' in the folder {self.root.name}")
        return self.root / name

    def _is_inside(self, path: Path) -> bool:
        """Whether a file is in the folder itself, rather than a link to somewhere else."""
        return path.resolve().is_relative_to(self.root)
