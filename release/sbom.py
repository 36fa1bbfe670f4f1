"""Writes a software bill of materials in CycloneDX's format: sbom.py ENVIRONMENT_PYTHON PATH.

It lists what `pip install paribus` installs, and what is compiled into the module.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[1]
# nanobind is linked into the module, and has a hash map of its own.
COMPILED = [
    ("nanobind", version("nanobind"), "BSD-3-Clause", f"pkg:pypi/nanobind@{version('nanobind')}"),
    ("robin-map", "as bundled with nanobind", "MIT", "pkg:github/Tessil/robin-map"),
]


def main() -> None:
    """Writes the list."""
    python, path = sys.argv[1], Path(sys.argv[2])
    path.parent.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "cyclonedx_py", "environment", python, "--pyproject", str(ROOT / "pyproject.toml")]
    subprocess.run([*command, "--output-reproducible", "--of", "JSON", "-o", str(path)], check=True)
    bill = json.loads(path.read_text(encoding="utf-8"))
    for name, number, license, address in COMPILED:
        bill["components"].append(
            {
                "type": "library",
                "bom-ref": address,
                "name": name,
                "version": number,
                "scope": "required",
                "description": "compiled into paribus._core",
                "licenses": [{"license": {"id": license}}],
                "purl": address,
            }
        )
    path.write_text(json.dumps(bill, indent=2) + "\n", encoding="utf-8")
    names = {each["name"].lower() for each in bill["components"]}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    missing = [each for each in project["dependencies"] if each.split(">")[0].lower() not in names]
    if missing:
        sys.exit(f"The list has no {missing[0]}.")
    print(f"{path}: {len(names)} components")


if __name__ == "__main__":
    main()
