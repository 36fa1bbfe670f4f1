"""The results page: tables and figures from result files, written between the marks of a hand-written page.

In the folder benchmarks, `python -m paper.page` writes docs/results/results.md from benchmarks/results.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from paper import accuracy_page, figures, real_page, surprise_page
from paper.markdown import has_part, header, replace_part, row
from paribus.evaluation import experiments
from paribus.evaluation.results import MEASURES, Mean, Measure, Result, ResultFile


def write_page(folder: Path, page: Path, pictures: Path) -> list[str]:
    """Writes the parts of a page that the result files of a folder provide. Returns the names of these parts."""
    text = page.read_text(encoding="utf-8")
    files = {name.split()[0] for name in PARTS if has_part(text, name)}
    results = {file: ResultFile(folder / f"{file}.jsonl").read() for file in files}
    written = []
    for name, make in PARTS.items():
        found = results.get(name.split()[0], [])
        if has_part(text, name) and any(result.error is None for result in found):
            text = replace_part(text, name, make(found, pictures))
            written.append(name)
    page.write_text(text, encoding="utf-8")
    return written


def runtime(results: list[Result], pictures: Path) -> list[str]:
    """Seconds against the numbers of rows and features."""
    seconds: dict[tuple[str, tuple[int, int, int]], list[float]] = {}
    for result in results:
        if result.error is None and result.task.shape is not None:
            seconds.setdefault((result.task.method, result.task.shape), []).append(result.seconds)
    methods = experiments.RUNTIME_METHODS
    curves: dict[str, dict[str, dict[int, float]]] = {}
    for axis, (what, shapes) in enumerate(experiments.RUNTIME_SHAPES.items()):
        curves[what] = {
            method: {s[axis]: float(np.median(seconds[method, s])) for s in shapes if (method, s) in seconds}
            for method in methods
        }
    figures.save(figures.runtime_curves(curves), pictures / "runtime.png")
    lines = header(["rows", "contextual", "behavioral", *(f"{m}, s" for m in methods), "plain / QCAD"])
    ratios = []
    for shape in dict.fromkeys(s for shapes in experiments.RUNTIME_SHAPES.values() for s in shapes):
        found = [seconds.get((method, shape)) for method in methods]
        times = ["" if each is None else f"{np.median(each):,.2f}" for each in found]
        ours, plain = found[0], found[-1]
        if ours and plain:
            ratios.append(np.median(plain) / np.median(ours))
        ratio = f"{ratios[-1]:,.0f}" if ours and plain else ""
        lines.append(row([*(f"{each:,}" for each in shape), *times, ratio]))
    if ratios:
        longer = f"{min(ratios):,.0f} to {max(ratios):,.0f} times"
        lines += ["", f"The plain forests take {longer} as long as QCAD with the same number of trees."]
    lines += ["", "How time grows: the exponent of a power law, fitted by least squares.", ""]
    lines += header(["method", *curves])
    lines += [row([method, *(_exponent(panel[method]) for panel in curves.values())]) for method in methods]
    return [
        "![Seconds against rows, contextual and behavioral features](pictures/runtime.png)",
        "",
        f"Medians of {max(map(len, seconds.values()))} runs on one core{_machines(results)}.",
        "",
        *lines,
    ]


def sensitivity(results: list[Result], pictures: Path) -> list[str]:
    """Measures against the size of the reference group."""
    curves = _curves(results, "n_neighbors")
    figures.save(figures.parameter_curves(curves, "size of the reference group"), pictures / "sensitivity.png")
    return [
        "![Measures against the number of neighbors, one panel per data set](pictures/sensitivity.png)",
        "",
        *_curve_table(curves, "k"),
    ]


def clipping(results: list[Result], pictures: Path) -> list[str]:
    """Measures against the cap on partial scores."""
    curves = _curves(results, "clip")
    figures.save(
        figures.parameter_curves(curves, "cap on a partial score (eta)", ["3", "10"]), pictures / "clipping.png"
    )
    return [
        "![Measures against the cap, one panel per data set](pictures/clipping.png)",
        "",
        *_curve_table(curves, "eta"),
    ]


def scaling(results: list[Result], pictures: Path) -> list[str]:
    """What the scaling of tails adds."""
    differences: dict[str, dict[Measure, Mean]] = {}
    for name in [summary.name for summary in experiments.paper_sets()]:
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
    lines = header(["data set", *(f"{label} gained" for label in MEASURES.values())])
    lines += [row([name, *(f"{gain.mean:+.3f}" for gain in gains.values())]) for name, gains in differences.items()]
    return [*lines, "", "![Gain in each measure by the scaling of tails](pictures/scaling.png)"]


PARTS = {
    "accuracy in short": accuracy_page.in_short,
    "accuracy beside the paper": accuracy_page.beside_the_paper,
    "accuracy ranks": accuracy_page.ranking,
    "accuracy of the baselines": accuracy_page.baseline_tables,
    "accuracy of every method": accuracy_page.every_number,
    "accuracy of surprise": surprise_page.on_the_papers_tables,
    "heldout": surprise_page.on_heldout_tables,
    "heldout rates": surprise_page.at_other_rates,
    "real": real_page.known_errors,
    "runtime": runtime,
    "sensitivity": sensitivity,
    "ablation of clipping": clipping,
    "ablation of scaling": scaling,
}
"""The parts of a page, by the names of their marks; the first word is the name of the result file."""


def _curves(results: list[Result], parameter: str) -> dict[str, dict[Measure, dict[str, Mean]]]:
    curves: dict[str, dict[Measure, dict[str, Mean]]] = {}
    for name in [summary.name for summary in experiments.paper_sets()]:
        found: dict[str, list[Result]] = {}
        for result in results:
            if result.task.dataset == name and parameter in result.task.parameters and result.error is None:
                value = result.task.parameters[parameter]
                found.setdefault("none" if value is None else f"{value:g}", []).append(result)
        if found:
            ordered = sorted(found, key=_order)
            curves[name] = {
                measure: {text: Mean.of([getattr(result, measure) for result in found[text]]) for text in ordered}
                for measure in MEASURES
            }
    return curves


def _curve_table(curves: dict[str, dict[Measure, dict[str, Mean]]], parameter: str) -> list[str]:
    """PRC AUC for each data set and value of a parameter, with the best of each row in bold."""
    values = sorted({value for curve in curves.values() for value in curve["prc_auc"]}, key=_order)
    lines = header([f"PRC AUC, {parameter} =", *values])
    for name, curve in curves.items():
        rounded = {value: round(mean.mean, 2) for value, mean in curve["prc_auc"].items()}
        best = max(rounded.values())
        cells = [f"{rounded[value]:.2f}" if value in rounded else "" for value in values]
        lines.append(row([name, *(f"**{cell}**" if cell == f"{best:.2f}" else cell for cell in cells)]))
    return lines


def _order(value: str) -> float:
    """A sort key for the values of a parameter; "none" comes last."""
    return np.inf if value == "none" else float(value)


def _exponent(points: dict[int, float]) -> str:
    if len(points) < 2:
        return ""
    slope, _ = np.polyfit(np.log(list(points)), np.log(list(points.values())), 1)
    return f"{slope:.2f}"


def _machines(results: list[Result]) -> str:
    """The machines that the results were measured on; empty if unknown."""
    found = {
        f"a machine of {result.machine['cores']} cores ({result.machine['processor']}, "
        f"kernel {result.machine['kernel']}, Python {result.versions['python']})"
        for result in results
        if result.machine
    }
    return f" of {' and '.join(sorted(found))}" if found else ""


def main() -> None:
    """Writes the page."""
    root = Path(__file__).parents[2]
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("page", nargs="?", type=Path, default=root / "docs" / "results" / "results.md")
    parser.add_argument("--results", type=Path, default=root / "benchmarks" / "results")
    arguments = parser.parse_args()
    written = write_page(arguments.results, arguments.page, arguments.page.parent / "pictures")
    if not written:
        sys.exit(f"there are no results in '{arguments.results}' for '{arguments.page}': run the experiments first")
    for part in written:
        print(f"{arguments.page}: {part}")


if __name__ == "__main__":
    main()
