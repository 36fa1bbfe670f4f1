"""Draws the pictures of the README and the docs: from the bundled data, and from public data where it is available."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from paribus import QCAD, ConditionalSurprise, Monitor, datasets
from paribus.pictures.matplotlib import QuantileCurvesDisplay, ScoreMapDisplay

FOLDER = Path(__file__).parent / "pictures"
GRAY, BLUE, RED = "#9aa0a6", "#0072b2", "#d55e00"


def draw_idea() -> None:
    """Draws one value against the whole table and against comparable rows."""
    weather = datasets.load("weather")
    detector = ConditionalSurprise(weather.contextual, weather.behavioral).fit(weather.table)
    row = 137
    own = {name: column[row] for name, column in weather.table.items()}
    alone = {name: [value] for name, value in own.items()}
    taus = detector.percentiles(alone)[0, 0]
    temperature = np.array(weather.table["temperature"], dtype=float)
    value = float(own["temperature"])
    place = f"{own['month']}, {own['elevation']:,.0f} m"

    plt.rcParams.update({"font.size": 11, "axes.spines.top": False, "axes.spines.right": False})
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), sharex=True, layout="constrained")
    bins = np.arange(-18, 30, 1.5)
    left.hist(temperature, bins, color=GRAY)
    left.set_title(f"Among all {len(temperature):,} days: ordinary", loc="left")
    right.hist(taus, bins, color="#9ecae1")
    right.axvspan(taus[5], taus[95], ymax=0.04, color=BLUE, lw=0)
    right.set_title(f"For {place}: not at all", loc="left")
    for axes in (left, right):
        axes.axvline(value, color=RED, lw=2.5)
        axes.set_xlabel("temperature, °C")
        axes.annotate(
            f"{value:.1f} °C",
            (value, axes.get_ylim()[1] * 0.93),
            xytext=(6, 0),
            textcoords="offset points",
            color=RED,
            weight="bold",
        )
    left.set_ylabel("days")
    right.set_ylabel("share of such days, %")
    right.text(
        -5,
        right.get_ylim()[1] * 0.6,
        f"learned from\ncomparable days:\n90 % lie between\n{taus[5]:.1f} and {taus[95]:.1f} °C",
        color=BLUE,
    )
    figure.savefig(FOLDER / "idea.png", dpi=160)


def draw_explanations() -> None:
    """Draws the pictures of the guide, in the style that users get."""
    weather = datasets.load("weather")
    detector = ConditionalSurprise(weather.contextual, weather.behavioral).fit(weather.table)
    explanation = detector.explain(137)
    save(explanation.plot(), "beanplot")
    save(explanation.plot_context(), "context-profile")
    save(ScoreMapDisplay.from_estimator(detector, "wind", "temperature"), "score-map")
    save(QuantileCurvesDisplay.from_estimator(detector, "temperature", "elevation", row=137), "quantile-curves")


def draw_football() -> None:
    """Draws the pictures of the paper's case study."""
    football = datasets.load("football")
    detector = QCAD(football.contextual, football.behavioral).fit(football.table)
    pereira = detector.explain(football.table["Name"].index("Matheus Pereira"))
    save(ScoreMapDisplay.from_estimator(detector, "Assists", "Goals", id_column="Name"), "football-map")
    save(pereira.plot(), "football-beanplot")
    save(pereira.plot_context(), "football-context")


def draw_stream() -> None:
    """Draws a stream with an odd row, shifted circumstances, and a change of the law."""
    random = np.random.default_rng(0)

    def rows(n: int, low: float = 0.0, shift: float = 0.0) -> dict[str, Any]:
        hour, heat = random.integers(0, 24, n), random.uniform(low, 1.0, n)
        load = 40 + 10 * np.sin(hour / 4) + 15 * heat + random.normal(size=n)
        return {"hour": hour, "heat": heat, "load": load + shift}

    detector = ConditionalSurprise(["hour", "heat"], ["load"], n_trees=16, random_state=0).fit(rows(1500))
    monitor = Monitor(detector, learn=False)
    usual = rows(700)
    usual["load"][400] = 120.0
    for part in (usual, rows(500, low=0.5), rows(400, low=0.5, shift=0.8)):
        monitor.update_many(part)
    save(monitor.plot(), "stream-timeline")


def save(display: Any, name: str) -> None:
    """Saves a display as a PNG that is sharp enough for print."""
    display.figure_.savefig(FOLDER / f"{name}.png", dpi=130)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    with mpl.rc_context():
        draw_idea()
    draw_explanations()
    draw_stream()
    try:
        draw_football()
    except OSError as error:
        print(f"The pictures of the football players are not redrawn: {error}")
