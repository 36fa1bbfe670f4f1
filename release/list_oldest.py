"""Prints the lowest versions that pyproject.toml allows, of the package and of the given extras, for pip to install."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
wanted = [
    *project["dependencies"],
    *(each for extra in sys.argv[1:] for each in project["optional-dependencies"][extra]),
]
print(*(each.replace(">=", "==") for each in wanted), sep="\n")
