"""Guides the inputs of one area by the code that they reach, with atheris: python -m fuzzing.guided csv -runs=100000.

Further arguments are those of libFuzzer. Only the modules of paribus are instrumented.
"""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["paribus"]):
    from fuzzing.areas import AREAS

FOUND = Path(__file__).parents[1] / "build" / "fuzz"


def main() -> None:
    """Runs libFuzzer on the area that is named first."""
    names = [area.name for area in AREAS]
    if len(sys.argv) < 2 or sys.argv[1] not in names:
        sys.exit(f"name one of: {', '.join(names)}")
    area = AREAS[names.index(sys.argv[1])]
    corpus = FOUND / f"corpus-{area.name.replace(' ', '-')}"
    corpus.mkdir(parents=True, exist_ok=True)
    for place, data in enumerate(area.seeds()):
        (corpus / f"seed-{place}").write_bytes(data)
    arguments = [sys.argv[0], str(corpus), "-timeout=20", f"-artifact_prefix={FOUND}/", *sys.argv[2:]]

    def check(data: bytes) -> None:
        area.check(data)

    atheris.Setup(arguments, check)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
