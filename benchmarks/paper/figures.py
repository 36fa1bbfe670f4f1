"""The figures of the results page: critical differences, runtime, sensitivity, ablation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

from paribus.evaluation.results import MEASURES, Mean, Measure
from paribus.evaluation.statistics import cliques
from paribus.pictures.matplotlib import style

LINES = {"prc_auc": (style.BLUE, "o"), "roc_auc": (style.VERMILION, "s"), "precision_at_n": (style.ORANGE, "D")}


def critical_difference_diagram(names: Sequence[str], average_ranks: Sequence[float], difference: float) -> Any:
    """Average ranks on an axis, with the best on the left; bars join methods that do not differ significantly."""
    order = np.argsort(average_ranks, kind="stable")
    n = len(names)
    left_half = (n + 1) // 2
    bars = cliques(average_ranks, difference)
    height = 0.55 + 0.1 * len(bars) + 0.24 * left_half
    figure, ax = plt.subplots(figsize=(7.2, height), layout="constrained")
    low, high = 1.0, float(max(n, np.ceil(max(average_ranks))))
    ax.set(xlim=(low - 0.28 * (high - low), high + 0.28 * (high - low)), ylim=(-height + 0.4, 0.45))
    ax.set_axis_off()
    ax.hlines(0, low, high, color=style.BLACK, linewidth=1)
    for tick in range(int(low), int(high) + 1):
        ax.vlines(tick, 0, 0.07, color=style.BLACK, linewidth=1)
        ax.text(tick, 0.1, str(tick), ha="center", va="bottom", fontsize=style.SMALL)
    ax.hlines(0.36, low, low + difference, color=style.GRAY, linewidth=2)
    ax.text(low + difference + 0.1, 0.36, f"critical difference {difference:.2f}", va="center", fontsize=style.SMALL)
    for place, method in enumerate(order):
        is_left = place < left_half
        level = place if is_left else n - 1 - place
        y = -0.22 - 0.1 * len(bars) - 0.24 * level
        end = low - 0.04 * (high - low) if is_left else high + 0.04 * (high - low)
        rank = average_ranks[method]
        ax.plot([rank, rank, end], [0, y, y], color=style.BLACK, linewidth=0.8)
        label = f"{names[method]}  {rank:.2f}" if is_left else f"{rank:.2f}  {names[method]}"
        ax.text(
            end + (-0.05 if is_left else 0.05),
            y,
            label,
            ha="right" if is_left else "left",
            va="center",
            fontsize=style.NORMAL,
        )
    for level, group in enumerate(bars):
        ends = [average_ranks[method] for method in (group[0], group[-1])]
        ax.hlines(-0.12 - 0.1 * level, ends[0] - 0.04, ends[1] + 0.04, color=style.BLUE, linewidth=3)
    return figure


def runtime_curves(curves: Mapping[str, Mapping[str, Mapping[int, float]]]) -> Any:
    """Seconds against size, on logarithmic axes: panel -> method -> size -> seconds."""
    figure, axes = plt.subplots(1, len(curves), figsize=(3.1 * len(curves), 3.0), layout="constrained", sharey=True)
    palette = [style.BLUE, style.SKY, style.VERMILION, style.ORANGE]
    for ax, (what, methods) in zip(np.ravel(axes), curves.items(), strict=True):
        for color, marker, (method, points) in zip(palette, "osD^", methods.items(), strict=False):
            sizes = sorted(points)
            ax.loglog(sizes, [points[s] for s in sizes], color=color, marker=marker, markersize=4, label=method)
        ax.set_xlabel(what, fontsize=style.NORMAL)
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        ax.xaxis.set_minor_formatter(mpl.ticker.NullFormatter())
        ax.set_xticks(sorted({size for points in methods.values() for size in points}))
        ax.tick_params(labelsize=style.SMALL - 1)
        style.bare(ax)
    np.ravel(axes)[0].set_ylabel("seconds, one core", fontsize=style.NORMAL)
    handles, labels = np.ravel(axes)[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=style.SMALL, frameon=False)
    return figure


def parameter_curves(
    curves: Mapping[str, Mapping[Measure, Mapping[str, Mean]]], what: str, marked: Sequence[str] = ()
) -> Any:
    """Measures against a parameter, with deviations shaded: data set -> measure -> value as text -> mean."""
    n_columns = 3
    n_rows = -(-len(curves) // n_columns)
    figure, axes = plt.subplots(
        n_rows, n_columns, figsize=(3.0 * n_columns, 2.2 * n_rows), layout="constrained", sharey=True, squeeze=False
    )
    for ax in axes.flat[len(curves) :]:
        ax.set_axis_off()
    for ax, (dataset, measures) in zip(axes.flat, curves.items(), strict=False):
        values = list(next(iter(measures.values())))
        for measure, means in measures.items():
            color, marker = LINES[measure]
            middle = np.array([means[value].mean for value in values])
            spread = np.array([means[value].deviation or 0.0 for value in values])
            x = np.arange(len(values))
            ax.fill_between(x, middle - spread, middle + spread, color=color, alpha=0.15, linewidth=0)
            ax.plot(x, middle, color=color, marker=marker, markersize=3, linewidth=1.2, label=MEASURES[measure])
        for value in marked:
            if value in values:
                ax.axvline(values.index(value), color=style.GRAY, linewidth=0.8, linestyle=":")
        step, last = max(1, len(values) // 7), len(values) - 1
        # The last tick always has a label, so the one before it must leave room.
        shown = [*range(0, last - step + 1, step), last]
        ax.set_xticks(shown, [values[i] for i in shown], fontsize=style.SMALL - 1)
        ax.set_title(dataset, fontsize=style.NORMAL, loc="left")
        ax.set_ylim(0, 1.03)
        ax.tick_params(axis="y", labelsize=style.SMALL - 1)
        style.bare(ax)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.supxlabel(what, fontsize=style.NORMAL)
    figure.legend(handles, labels, loc="outside upper center", ncols=3, fontsize=style.SMALL, frameon=False)
    return figure


def difference_bars(differences: Mapping[str, Mapping[Measure, Mean]], what: str) -> Any:
    """What a part of the method adds to each measure: data set -> measure -> mean difference."""
    figure, ax = plt.subplots(figsize=(7.2, 0.32 * len(differences) + 1.0), layout="constrained")
    places = np.arange(len(differences))
    for offset, measure in zip((-0.27, 0.0, 0.27), MEASURES, strict=True):
        values = [measures[measure] for measures in differences.values()]
        ax.barh(
            places + offset,
            [value.mean for value in values],
            0.25,
            xerr=[value.deviation or 0.0 for value in values],
            color=LINES[measure][0],
            error_kw={"linewidth": 0.7, "ecolor": style.GRAY},
            label=MEASURES[measure],
        )
    ax.set_yticks(places, list(differences), fontsize=style.SMALL)
    ax.invert_yaxis()
    ax.axvline(0, color=style.BLACK, linewidth=0.8)
    ax.set_xlabel(what, fontsize=style.NORMAL)
    ax.tick_params(axis="x", labelsize=style.SMALL)
    style.bare(ax, keep=("bottom",))
    figure.legend(loc="outside upper center", ncols=3, fontsize=style.SMALL, frameon=False)
    return figure


def save(figure: Any, path: Path) -> None:
    """Saves a figure and closes it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)
