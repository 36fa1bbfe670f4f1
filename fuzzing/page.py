"""Writes the counts of the campaigns into docs/methods/promises.md: PYTHONPATH=benchmarks python -m fuzzing.page."""

from __future__ import annotations

from pathlib import Path

from paper.markdown import header, rewrite_part, row

from fuzzing.areas import AREAS
from fuzzing.record import FAULTS, GUIDED, RANDOM, SANITIZED, read_results

PAGE = Path(__file__).parents[1] / "docs" / "methods" / "promises.md"
COUNTS = ("inputs", "accepted", "failed")


def _row(name: str, counts: dict[str, float], *more: str) -> str:
    return row([name, *(f"{counts[key]:,.0f}" for key in COUNTS), *more])


def _sums(counts: list[dict[str, float]]) -> dict[str, float]:
    return {key: sum(each[key] for each in counts) for key in COUNTS}


def main() -> None:
    """Writes the page."""
    found = read_results()
    oracles = {area.name: area.oracle for area in AREAS}
    # Areas that are no longer there do not count.
    counts = {name: each for name, each in found.get(RANDOM, {}).items() if name in oracles}
    lines = header(["area", *COUNTS, "compared with"])
    lines += [_row(name, each, oracles[name]) for name, each in counts.items()]
    rewrite_part(PAGE, "fuzz", [*lines, _row("all", _sums(list(counts.values())), "")])
    sanitized = found.get(SANITIZED, {})
    lines = header(["area", *COUNTS]) + [_row(name, each) for name, each in sanitized.items()]
    lines.append(_row("all", _sums(list(sanitized.values()))))
    rewrite_part(PAGE, "sanitized", lines if sanitized else ["No run of `make fuzz-sanitize` has been recorded yet."])
    lines = header(["area", "inputs"])
    lines += [row([name, f"{each['inputs']:,.0f}"]) for name, each in found.get(GUIDED, {}).items()]
    rewrite_part(PAGE, "guided", lines)
    lines = header(["fault", "times", "something was wrong"])
    lines += [row([name, *(f"{each[key]:,.0f}" for key in ("times", "wrong"))]) for name, each in found[FAULTS].items()]
    rewrite_part(PAGE, "faults", lines)


if __name__ == "__main__":
    main()
