"""The counts of all campaigns, in results.json. As a script, adds those of a run of libFuzzer: record.py NAME LOG."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results.json"
RANDOM, SANITIZED, GUIDED, FAULTS = "random", "sanitized", "guided", "faults"
"""The kinds of campaigns: inputs at random, the same with sanitizers, those that libFuzzer chooses, and faults."""


def read_results() -> dict[str, dict[str, dict[str, float]]]:
    """By kind of campaign and by area: inputs, accepted and failed ones, and seconds; of faults, how many."""
    found: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    return found


def add_counts(kind: str, area: str, counts: dict[str, float]) -> None:
    """Adds the counts of a run to those of earlier ones."""
    known = read_results()
    old = known.setdefault(kind, {}).setdefault(area, dict.fromkeys(counts, 0))
    for key in counts:
        old[key] = round(old[key] + counts[key], 1)
    RESULTS.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Adds a run of libFuzzer that ended without finding anything."""
    area, log = sys.argv[1], Path(sys.argv[2]).read_text(encoding="utf-8", errors="replace")
    done = re.search(r"^Done (\d+) runs in (\d+) second", log, re.MULTILINE)
    if done is None:
        sys.exit(f"The run of {area} did not end as it should.")
    add_counts(GUIDED, area, {"inputs": int(done[1]), "seconds": int(done[2])})


if __name__ == "__main__":
    main()
