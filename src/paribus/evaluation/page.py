"""The results page: tables and figures from result files, put between the marks of a page that people write."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean

import numpy as np

from paribus.evaluation import experiments, figures
from paribus.evaluation.results import MEASURES, Mean, Measure, Result, ResultFile, means, paper_means
from paribus.evaluation.statistics import critical_difference, friedman, ranks

# A difference to the paper that is neither above this nor above the paper's own deviation is none.
REACH = 0.02


def replace_part(page: str, name: str, lines: Iterable[str]) -> str:
    """The page with other lines between `<!-- name: begin -->` and `<!-- name: end -->`."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    if page.count(begin) != 1 or page.count(end) != 1:
        raise ValueError(f"the page has no place for '{name}': it needs the lines '{begin}' and '{end}'")
    before, rest = page.split(begin)
    _, after = rest.split(end)
    return f"{before}{begin}\n" + "\n".join(lines) + f"\n{end}{after}"


def write_page(folder: Path, page: Path, pictures: Path) -> list[str]:
    """Puts what the result files of a folder say into a page. Returns which parts were written."""
    text = page.read_text(encoding="utf-8")
    written = []
    for name, make in PARTS.items():
        results = ResultFile(folder / f"{name.split()[0]}.jsonl").read()
        if results and f"<!-- {name}: begin -->" in text:
            text = replace_part(text, name, make(results, pictures))
            written.append(name)
    page.write_text(text, encoding="utf-8")
    return written


def beside_the_paper(results: list[Result], pictures: Path) -> list[str]:
    """QCAD on each data set, next to the paper's numbers."""
    del pictures
    tables = {measure: (means(results, measure), paper_means(measure)) for measure in MEASURES}
    lines = _header(["data set", *(f"{label} {which}" for label in MEASURES.values() for which in ("here", "paper"))])
    reached = dict.fromkeys(MEASURES, 0)
    names = [name for name in _names() if (name, "QCAD") in tables["prc_auc"][0]]
    for name in names:
        cells = []
        for measure, (ours, paper) in tables.items():
            found, reported = ours[name, "QCAD"], paper[name, "QCAD"]
            below = reported.mean - found.mean
            is_within = below <= max(REACH, reported.deviation or 0.0) + 1e-9
            reached[measure] += is_within
            cells += [f"{found}{'' if is_within else ' ▼'}", str(reported)]
        lines.append(_row([name, *cells]))
    for title, chosen in (("mean, real", _real(names)), ("mean, generated", _generated(names))):
        if chosen:
            cells = []
            for ours, paper in tables.values():
                cells += [f"{fmean(table[name, 'QCAD'].mean for name in chosen):.3f}" for table in (ours, paper)]
            lines.append(_row([f"**{title}**", *cells]))
    counts = ", ".join(f"{label} {reached[measure]}" for measure, label in MEASURES.items())
    return [
        *lines,
        "",
        f"At least the paper's value less the larger of its deviation and {REACH}: {counts} of {len(names)}.",
    ]


def all_methods(results: list[Result], pictures: Path) -> list[str]:
    """Every method on every data set, average ranks, and whether they differ by more than chance."""
    lines = []
    methods = [m for m in experiments.COMPARED if any(r.task.method == m for r in results)]
    for measure, label in MEASURES.items():
        table = means(results, measure)
        names = [name for name in _names() if any((name, method) in table for method in methods)]
        lines += ["", f"### {label}", "", *_header(["data set", *methods])]
        for name in names:
            lines.append(_row([name, *_best_bold([table.get((name, method)) for method in methods])]))
        for title, chosen in (("mean, real", _real(names)), ("mean, generated", _generated(names))):
            if chosen:
                whole = [_mean_over(table, chosen, method) for method in methods]
                lines.append(_row([f"**{title}**", *whole]))
        complete = [name for name in names if all((name, method) in table for method in methods)]
        if len(complete) < 2 or len(methods) < 3:
            continue
        values = np.array([[table[name, method].mean for method in methods] for name in complete])
        average = ranks(values).mean(axis=0)
        test, difference = friedman(values), critical_difference(len(methods), len(complete))
        lines.append(_row(["**average rank**", *(f"{rank:.2f}" for rank in average)]))
        picture = f"ranks-{measure}.png"
        figures.save(figures.critical_difference_diagram(methods, average.tolist(), difference), pictures / picture)
        lines += [
            "",
            f"Ranks over the {len(complete)} data sets that every method has finished. Friedman: chi-squared "
            f"{test.statistic:.1f}, p = {test.p_value:.1g}; Iman and Davenport: F = {test.f_statistic:.1f}, "
            f"p = {test.f_p_value:.1g}. Critical difference (Nemenyi, 5 %): {difference:.2f}.",
            "",
            f"![Average ranks by {label}; bars join methods that differ by no more than chance](pictures/{picture})",
        ]
    return [*lines[1:], "", *_footnotes(results, methods)]


def runtime(results: list[Result], pictures: Path) -> list[str]:
    """Seconds against rows and features."""
    seconds: dict[tuple[str, tuple[int, int, int]], list[float]] = {}
    for result in results:
        if result.error is None and result.task.shape is not None:
            seconds.setdefault((result.task.method, result.task.shape), []).append(result.seconds)
    curves: dict[str, dict[str, dict[int, float]]] = {}
    for axis, (what, shapes) in enumerate(experiments.RUNTIME_SHAPES.items()):
        curves[what] = {
            method: {s[axis]: float(np.median(seconds[method, s])) for s in shapes if (method, s) in seconds}
            for method in experiments.RUNTIME_METHODS
        }
    figures.save(figures.runtime_curves(curves), pictures / "runtime.png")
    lines = _header(
        ["rows", "contextual", "behavioural", *(f"{m}, s" for m in experiments.RUNTIME_METHODS), "plain / QCAD"]
    )
    for shape in dict.fromkeys(s for shapes in experiments.RUNTIME_SHAPES.values() for s in shapes):
        found = [seconds.get((method, shape)) for method in experiments.RUNTIME_METHODS]
        times = ["" if each is None else f"{np.median(each):,.2f}" for each in found]
        ours, plain = found[0], found[-1]
        ratio = f"{np.median(plain) / np.median(ours):,.0f}" if ours and plain else ""
        lines.append(_row([*(f"{each:,}" for each in shape), *times, ratio]))
    return [*lines, "", "![Seconds against rows, contextual and behavioural features](pictures/runtime.png)"]


def sensitivity(results: list[Result], pictures: Path) -> list[str]:
    """Measures against the size of the reference group."""
    curves = _curves(results, "n_neighbors")
    figures.save(figures.parameter_curves(curves, "size of the reference group"), pictures / "sensitivity.png")
    return ["![Measures against the number of neighbours, one panel per data set](pictures/sensitivity.png)"]


def clipping(results: list[Result], pictures: Path) -> list[str]:
    """Measures against the cap of partial scores."""
    curves = _curves(results, "clip")
    figures.save(
        figures.parameter_curves(curves, "cap of a partial score (eta)", ["3", "10"]), pictures / "clipping.png"
    )
    return ["![Measures against the cap, one panel per data set](pictures/clipping.png)"]


def scaling(results: list[Result], pictures: Path) -> list[str]:
    """What the scaling of tails adds."""
    differences: dict[str, dict[Measure, Mean]] = {}
    for name in _names():
        pairs: dict[int, dict[bool, Result]] = {}
        for result in results:
            if result.task.dataset == name and "scale_tails" in result.task.parameters and result.error is None:
                pairs.setdefault(result.task.trial, {})[result.task.parameters["scale_tails"]] = result
        whole = [pair for pair in pairs.values() if len(pair) == 2]
        if whole:
            differences[name] = {
                measure: Mean.of([getattr(pair[True], measure) - getattr(pair[False], measure) for pair in whole])
                for measure in MEASURES
            }
    figures.save(figures.difference_bars(differences, "with scaling of tails, minus without"), pictures / "scaling.png")
    lines = _header(["data set", *(f"{label} gained" for label in MEASURES.values())])
    lines += [_row([name, *(f"{gain.mean:+.3f}" for gain in gains.values())]) for name, gains in differences.items()]
    return [*lines, "", "![Gain in each measure by the scaling of tails](pictures/scaling.png)"]


PARTS = {
    "accuracy beside the paper": beside_the_paper,
    "accuracy of all methods": all_methods,
    "runtime": runtime,
    "sensitivity": sensitivity,
    "ablation of clipping": clipping,
    "ablation of scaling": scaling,
}
"""The parts of a page by the names of their marks; the first word is that of the result file."""


def _curves(results: list[Result], parameter: str) -> dict[str, dict[Measure, dict[str, Mean]]]:
    curves: dict[str, dict[Measure, dict[str, Mean]]] = {}
    for name in _names():
        found: dict[str, list[Result]] = {}
        for result in results:
            if result.task.dataset == name and parameter in result.task.parameters and result.error is None:
                value = result.task.parameters[parameter]
                found.setdefault("none" if value is None else f"{value:g}", []).append(result)
        if found:
            ordered = sorted(found, key=lambda text: np.inf if text == "none" else float(text))
            curves[name] = {
                measure: {text: Mean.of([getattr(result, measure) for result in found[text]]) for text in ordered}
                for measure in MEASURES
            }
    return curves


def _footnotes(results: list[Result], methods: list[str]) -> list[str]:
    """Where a cell has fewer trials than the paper's, and what failed."""
    counted = means(results)
    fewer: dict[str, list[str]] = {}
    for summary in experiments.paper_sets():
        usual = experiments.TRIALS_OF_LARGE if summary.n_rows > experiments.LARGE else experiments.TRIALS
        for method in methods:
            found = counted.get((summary.name, method))
            if found is not None and found.n_trials < usual:
                fewer.setdefault(method, []).append(f"{summary.name} {found.n_trials}")
    lines = [f"Fewer injections than elsewhere, {method}: {', '.join(cells)}." for method, cells in fewer.items()]
    failed = [f"{r.task.method} on {r.task.dataset}: {r.error}" for r in results if r.error is not None]
    return lines + [f"Failed: {line}." for line in failed]


def _mean_over(table: dict[tuple[str, str], Mean], names: list[str], method: str) -> str:
    """The mean over data sets, if the method has finished them all."""
    found = [table[name, method].mean for name in names if (name, method) in table]
    return f"{fmean(found):.3f}" if len(found) == len(names) else ""


def _best_bold(cells: Sequence[Mean | None]) -> list[str]:
    best = max((round(cell.mean, 2) for cell in cells if cell is not None), default=None)
    return [
        "" if cell is None else f"**{cell.mean:.2f}**" if round(cell.mean, 2) == best else f"{cell.mean:.2f}"
        for cell in cells
    ]


def _names() -> list[str]:
    return [summary.name for summary in experiments.paper_sets()]


def _generated(names: list[str]) -> list[str]:
    return [name for name in names if name.startswith("Syn") and name[3:].isdecimal()]


def _real(names: list[str]) -> list[str]:
    return [name for name in names if name not in _generated(names)]


def _header(titles: Sequence[str]) -> list[str]:
    return [_row(titles), "|" + " --- |" * len(titles)]


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
