"""The distribution of the scores of all rows, and the threshold."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from markupsafe import Markup

from paribus._common.arrays import Floats
from paribus._common.statistics import weighted_quantiles
from paribus._common.text import score_text
from paribus.pictures.svg import elements as svg

WIDTH, HEIGHT = 360, 300
LEFT, RIGHT, TOP, BOTTOM = 46, WIDTH - 6, 34, HEIGHT - 40
N_BINS = 36
# The maximum of the axis, in multiples of the threshold.
MAX_TAIL_RATIO = 8.0


@dataclass(frozen=True)
class Histogram:
    """Scores in bins."""

    edges: Floats = field(repr=False)
    """The edges of the bins."""
    counts: tuple[int, ...]
    """The number of rows in each bin."""
    first_flagged: int
    """The first bin above the threshold."""
    threshold: float
    """The score above which a row is an anomaly."""
    n_beyond: int
    """The number of rows beyond the end of the axis; they are counted in the last bin."""


def score_bins(scores: Floats, threshold: float, weights: Floats | None = None) -> Histogram:
    """Bins of equal width, with the threshold at an edge where possible.

    `weights` are the numbers of rows that the scores represent.

    >>> score_bins(np.array([0.0, 1.0, 2.0, 9.0]), threshold=3.0).first_flagged
    12
    """
    highest = float(scores.max())
    end = max(highest, threshold if threshold < 2 * highest else 0.0) or 1.0
    if threshold > 0 and end > MAX_TAIL_RATIO * threshold:
        end = MAX_TAIL_RATIO * threshold
    # Tiny scores must not lead to a width of 0.
    width = max(end / N_BINS, 1e-300)
    if threshold >= width:
        width = threshold / math.ceil(threshold / width)
    n_bins = max(1, math.ceil(end / width - 1e-9))
    edges = width * np.arange(n_bins + 1, dtype=np.float64)
    inside = np.minimum(scores, edges[-1])
    # A score equal to the threshold is not above it, so bins include their upper edge.
    places = np.clip(np.ceil(inside / width - 1e-9).astype(np.int64) - 1, 0, n_bins - 1)
    first_flagged = min(n_bins, round(threshold / width)) if threshold >= width else (0 if threshold < 0 else 1)
    weights = np.ones(len(scores)) if weights is None else weights
    counts = np.bincount(places, weights, minlength=n_bins)
    n_beyond = round(float(weights[scores > edges[-1] * 1.001].sum()))
    return Histogram(edges, tuple(round(count) for count in counts.tolist()), first_flagged, threshold, n_beyond)


def score_histogram(scores: Floats, threshold: float, weights: Floats | None = None) -> Markup:
    """The bars, on a logarithmic axis if small bars would be invisible next to large ones.

    `weights` are the numbers of rows that the scores represent.
    """
    weights = np.ones(len(scores)) if weights is None else weights
    bins = score_bins(scores, threshold, weights)
    most = max(bins.counts)
    logarithmic = most > 60
    if logarithmic:
        # The axis begins below 1, so that a single row has a visible bar.
        steps = [10.0**power for power in range(math.floor(math.log10(most)) + 1)]
        scale = svg.Scale(math.log10(0.6), math.log10(most), BOTTOM, TOP)
    else:
        steps = [value for value in svg.ticks(0, most, 4, whole=True) if value > 0]
        scale = svg.Scale(0.0, most, BOTTOM, TOP)

    left_end = max(LEFT, 10 + max((svg.text_width(f"{step:,.0f}", svg.LETTER_SIZE) for step in steps), default=0.0))
    x = svg.Scale(0.0, float(bins.edges[-1]), left_end, RIGHT)

    def y(count: float) -> float:
        return scale(math.log10(count)) if logarithmic else scale(count)

    below = above = ""
    for i, count in enumerate(bins.counts):
        if count:
            left, width = x(bins.edges[i]), x(bins.edges[i + 1]) - x(bins.edges[i])
            bar = svg.box(left + 0.5, y(count), max(0.5, width - 1), BOTTOM - y(count))
            below, above = (below + bar, above) if i < bins.first_flagged else (below, above + bar)
    parts = []
    for step in steps:
        parts.append(svg.line(left_end, y(step), RIGHT, y(step), "grid"))
        parts.append(svg.text(left_end - 6, y(step) + 4, f"{step:,.0f}", "e"))
    parts += [svg.path(below, "counted"), svg.path(above, "own"), svg.line(left_end, BOTTOM, RIGHT, BOTTOM, "axis")]
    for value in svg.ticks(0.0, float(bins.edges[-1]), 6):
        words = f"{value:,.10g}"
        parts.append(
            svg.text(min(x(value), WIDTH - svg.text_width(words, svg.LETTER_SIZE) / 2), BOTTOM + 16, words, "m")
        )
    parts.append(svg.text(RIGHT, HEIGHT - 6, "anomaly score →", "e name"))
    parts.append(svg.text(0, 12, "↑ rows, logarithmic" if logarithmic else "↑ rows", "name"))
    n_flagged = round(float(weights[scores > threshold].sum()))
    if 0 <= threshold <= bins.edges[-1] * (1 + 1e-9):
        at = x(threshold)
        words = f"threshold {score_text(threshold)}"
        # The label goes to the right of the line if there is room, else to the left.
        fits = at + svg.text_width(words, svg.LETTER_SIZE) + 6 <= WIDTH
        parts.append(svg.line(at, TOP - 12, at, BOTTOM, "threshold"))
        parts.append(svg.text(at + (5 if fits else -5), TOP - 4, words, "value" if fits else "value e"))
    if bins.n_beyond:
        parts.append(svg.text(RIGHT, TOP + 14, f"{bins.n_beyond:,} beyond →", "minor e"))
    label = (
        f"Distribution of {sum(bins.counts):,} scores, from {score_text(scores.min())} to {score_text(scores.max())}, "
        f"half of them below {score_text(_median(scores, weights))}; "
        f"{n_flagged:,} above the threshold of {score_text(threshold)}"
    )
    return svg.picture(WIDTH, HEIGHT, label, *parts, class_="wide")


def _median(scores: Floats, weights: Floats) -> float:
    return float(np.median(scores)) if (weights == 1.0).all() else weighted_quantiles(scores, weights, (0.5,))[0]
