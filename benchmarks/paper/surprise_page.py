"""ConditionalSurprise next to all other methods, on the paper's tables and on held-out ones."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from paper import figures
from paper.markdown import header, row
from paper.summaries import Table, average_ranks, best_bold, complete, kinds, listed, mean_over, met, number
from paribus.evaluation import experiments
from paribus.evaluation.heldout import BETWEEN, RATES, SCHEMES, heldout_sets
from paribus.evaluation.results import Result, means, paper_means
from paribus.evaluation.statistics import critical_difference

SURPRISE = "ConditionalSurprise"
QCAD_AS_SHIPPED = "QCAD, 100 trees"
# QCAD is ranked in its better setting only.
OTHERS = [method for method in experiments.COMPARED if method not in (SURPRISE, "QCAD")]
RANKED = [SURPRISE, *OTHERS]
# The required mean of ConditionalSurprise over the paper's real tables.
REQUIRED_MEAN = 0.94


def on_the_papers_tables(results: list[Result], pictures: Path) -> list[str]:
    """How it ranks on each of the paper's tables, and by how much it leads."""
    table, reported = means(results), paper_means()
    names = complete(table, RANKED)
    if not names:
        return []
    lines = [_first_or_tied(table, names)]
    for title, chosen in kinds(names):
        found = mean_over(table, chosen, SURPRISE)
        assert found is not None
        asked = f" (required: {REQUIRED_MEAN}, {met(found >= REQUIRED_MEAN)})" if title == "real" else ""
        best, method = max((mean_over(table, chosen, method) or 0.0, method) for method in OTHERS)
        lines.append(
            f"- **Mean over the {len(chosen)} {title} sets:** {found:.3f}{asked}; next is {method}, {best:.3f}."
        )
    ranked = average_ranks(table, names, RANKED)
    lines += [f"- **Average rank** of {len(RANKED)}: {listed(sorted(ranked.items(), key=lambda each: each[1]))}.", ""]
    titles = ["data set", SURPRISE, "best other here", "", QCAD_AS_SHIPPED, "RIF", "best in the paper", "ahead by"]
    lines += header(titles)
    for name in names:
        best_here = max(OTHERS, key=lambda method: table[name, method].mean)
        in_paper = max((each.mean, method) for (of, method), each in reported.items() if of == name)
        cells = [table[name, method] for method in (SURPRISE, best_here)]
        lines.append(
            row(
                [
                    name,
                    *best_bold(list(cells), 1),
                    best_here,
                    str(table[name, QCAD_AS_SHIPPED]),
                    str(table[name, "RIF"]),
                    f"{in_paper[0]:.2f} ({in_paper[1]})",
                    f"{cells[0].mean - cells[1].mean:+.2f}",
                ]
            )
        )
    difference = critical_difference(len(RANKED), len(names))
    figure = figures.critical_difference_diagram(list(ranked), list(ranked.values()), difference)
    figures.save(figure, pictures / "ranks-surprise.png")
    lines += ["", "![Average ranks of all detectors by PRC AUC](pictures/ranks-surprise.png)"]
    return lines


def on_heldout_tables(results: list[Result], pictures: Path) -> list[str]:
    """Every method on the held-out tables."""
    del pictures
    table = means(results)
    methods = [method for method in RANKED if any(of == method for _, of in table)]
    names = complete(table, methods, heldout_sets())
    if not names:
        return []
    ranked = average_ranks(table, names, methods)
    order = sorted(methods, key=lambda method: ranked[method])
    lines = [
        _first_or_tied(table, names),
        f"- **Average rank** of {len(methods)}: {listed([(method, ranked[method]) for method in order])}.",
        "",
        *header(["anomalies", *order]),
    ]
    for scheme in SCHEMES:
        chosen = [name for name in names if name.endswith(f"{BETWEEN}{scheme}")]
        lines.append(_means_line(scheme, table, chosen, order))
    lines += [_means_line("**all**", table, names, order), "", *header(["table and anomalies", *order])]
    for name in names:
        lines.append(row([name, *best_bold([table[name, method] for method in order], 1)]))
    return lines


def at_other_rates(results: list[Result], pictures: Path) -> list[str]:
    """The mean of each quick method by kind and rate of anomalies."""
    del pictures
    table = means(results)
    methods = [method for method in experiments.RATE_METHODS if any(of == method for _, of in table)]
    lines = header(["anomalies", "rate", *methods])
    for scheme in [*SCHEMES, "**all**"]:
        for rate in RATES:
            names = [name for name in heldout_sets(rate) if scheme not in SCHEMES or scheme in name.split(BETWEEN)]
            lines.append(row([scheme, rate, *(number(mean_over(table, names, method)) for method in methods)]))
    return lines


def behind(table: Table, names: list[str]) -> list[str]:
    """The tables on which another method is better to two digits, and which method."""
    found = []
    for name in names:
        own = round(table[name, SURPRISE].mean, 2)
        best = max(OTHERS, key=lambda method: table[name, method].mean if (name, method) in table else -1.0)
        if round(table[name, best].mean, 2) > own:
            found.append(f"{name} ({own:.2f}, {best} {table[name, best].mean:.2f})")
    return found


def _first_or_tied(table: Table, names: list[str]) -> str:
    beaten = behind(table, names)
    text = f"- **First, or tied for first to two digits,** on {len(names) - len(beaten)} of {len(names)}"
    return f"{text}; not on {', '.join(beaten)}." if beaten else f"{text}."


def _means_line(title: str, table: Table, names: Iterable[str], methods: list[str]) -> str:
    return row([title, *(number(mean_over(table, list(names), method)) for method in methods)])
