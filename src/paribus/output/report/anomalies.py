"""The explained rows of the page: explanations as frozen facts for the template."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from paribus._common.text import clipped, ended, one_in, plain, score_text
from paribus.output.report.data import KIND_WORDS
from paribus.output.report.limits import Limits
from paribus.output.report.names import RowNames
from paribus.output.results import Results
from paribus.pictures.svg.beanplot import bar, beanplot
from paribus.pictures.svg.context_profile import context_profile
from paribus.tables.column import is_missing
from paribus.tables.table import Table

if TYPE_CHECKING:
    from paribus.explain.context import ContextFeature
    from paribus.explain.explanation import RowExplanation
    from paribus.explain.facts import BehaviorFeature
    from paribus.explain.view import FittedView

# Contextual features that are all shown in their own order.
MAX_CIRCUMSTANCES = 4
# The columns that the page adds to the table of the nearest rows.
OWN_COLUMNS = ("distance", "weight")


@dataclass(frozen=True)
class Cell:
    """A cell of a table."""

    text: str
    is_number: bool = False


@dataclass(frozen=True)
class Figure:
    """A picture and its caption."""

    name: str
    note: str
    picture: Markup = field(repr=False)


@dataclass(frozen=True)
class FeatureLine:
    """One behavioral feature in numbers."""

    name: str
    value: str
    """The actual value and its verdict."""
    expectation: str
    """The expected values."""
    rarity: str
    """How improbable the value is; empty if unknown or not worth mentioning."""
    score: str
    """The partial score."""
    bar: Markup = field(repr=False)
    """The partial score as a bar."""
    stands_out: bool
    """Whether the value is outside the usual range."""


@dataclass(frozen=True)
class Nearest:
    """The table of the nearest rows of the reference group, with the row itself on top."""

    columns: tuple[Cell, ...]
    """The headings."""
    own: tuple[Cell, ...]
    """The row's own values."""
    rows: tuple[tuple[str, tuple[Cell, ...], str, str], ...]
    """The name, the values, the distance and the weight of each of the nearest rows."""
    n_hidden: int
    """The number of columns of the fitted table that are left out."""
    distance_name: str
    """The heading of the distance, different from those of the table's own columns."""
    weight_name: str
    """The heading of the weight, different from those of the table's own columns."""


@dataclass(frozen=True)
class Anomaly:
    """The facts about one row."""

    position: int
    name: str
    score: float
    rank: int
    n_ranked: int
    lower: str
    """The percentage of rows with a lower score."""
    is_flagged: bool
    threshold: float
    feature: str
    """The leading feature: the one with the highest partial score."""
    feature_place: int
    """The position of the leading feature among the behavioral features."""
    sentence: str
    rarity: str
    """How many ordinary rows are as unusual, in words."""
    kind: str | None
    """The kind of verdict, as the method calls it."""
    kind_words: str
    """The kind of verdict in words; empty if the method has no kinds."""
    group: int
    """The number of the group; 0 for none."""
    warnings: tuple[str, ...]
    n_more_warnings: int
    """The number of warnings that are left out."""
    lines: tuple[FeatureLine, ...]
    n_more_lines: int
    """The number of behavioral features that are left out."""
    beans: tuple[Figure, ...]
    profiles: tuple[Figure, ...]
    further: tuple[tuple[str, str, str], ...]
    """Contextual features without a picture: the name, the own value, and the values of most comparable rows."""
    n_more_further: int
    """The number of contextual features that are left out."""
    n_compared: int
    """The size of the reference group."""
    nearest: Nearest


@dataclass(frozen=True)
class RowsShown:
    """The rows that the page shows, with their names and those of the rows they are compared with."""

    results: Results
    names: RowNames
    """The names of the rows."""
    fitted_names: RowNames
    """The names of the fitted rows."""

    @property
    def view(self) -> FittedView:
        """What the rows are compared with."""
        return self.results.view


def anomalies(shown: RowsShown, explained: Mapping[int, RowExplanation], limits: Limits) -> list[Anomaly]:
    """The facts about each explained row; these are given by position."""
    others = _other_columns(shown)
    return [_anomaly(shown, row, explanation, others, limits) for row, explanation in explained.items()]


def _anomaly(
    shown_rows: RowsShown, row: int, explanation: RowExplanation, others: list[str], limits: Limits
) -> Anomaly:
    view, names, results = shown_rows.view, shown_rows.names, shown_rows.results
    telling = _telling(explanation)
    pictured, unpictured = telling[: limits.profiles], telling[limits.profiles :]
    further = unpictured[: limits.further]
    leading = explanation.leading
    shown = [f for f in explanation.behavior[: limits.beans] if f.has_reference]
    group = results.group_of[row]
    return Anomaly(
        position=row,
        name=plain(names(row), limits.name),
        score=explanation.score,
        rank=int(results.rank[row]),
        n_ranked=explanation.n_ranked,
        lower=_percent(explanation.percentile),
        is_flagged=explanation.is_anomaly,
        threshold=explanation.threshold,
        feature=plain(leading.name, limits.name),
        feature_place=view.behavior_names.index(leading.name),
        sentence=ended(clipped(explanation.sentence, limits.sentence)),
        rarity=one_in(explanation.p_value),
        kind=explanation.kind,
        kind_words=KIND_WORDS.get(explanation.kind or "", ""),
        group=0 if np.isnan(group) else int(group),
        warnings=tuple(ended(clipped(w, limits.sentence)) for w in explanation.warnings[: limits.warnings]),
        n_more_warnings=max(0, len(explanation.warnings) - limits.warnings),
        lines=tuple(
            _line(feature, view.full_partial_score, limits) for feature in explanation.behavior[: limits.behavior]
        ),
        n_more_lines=max(0, len(explanation.behavior) - limits.behavior),
        beans=tuple(Figure(plain(f.name, limits.name), _partial(f), beanplot(f)) for f in shown),
        profiles=tuple(
            Figure(
                plain(f.name, limits.name),
                plain(f.text, limits.name),
                context_profile(f, explanation.reference_values(f), leading.weights),
            )
            for f in pictured
        ),
        further=tuple(
            (plain(f.name, limits.name), plain(f.text, limits.name), plain(f.group_text, 2 * limits.name))
            for f in further
        ),
        n_more_further=len(unpictured) - len(further),
        n_compared=len(explanation.reference_positions),
        nearest=_nearest(shown_rows, row, explanation, telling, others, limits),
    )


def _telling(explanation: RowExplanation) -> list[ContextFeature]:
    """The contextual features; if there are many, those with a warning or that set the group apart come first."""
    features = list(explanation.context)
    if len(features) <= MAX_CIRCUMSTANCES:
        return features
    return sorted(
        features,
        key=lambda f: (f.warning is None, not f.sets_apart, f.table_share / f.share if f.share > 0 else 1.0),
    )


def _line(feature: BehaviorFeature, full: float, limits: Limits) -> FeatureLine:
    value = feature.text.removeprefix(plain(feature.name)).strip()
    return FeatureLine(
        plain(feature.name, limits.name),
        value if feature.direction == "missing" else f"{value}, {feature.direction}",
        feature.expectation,
        feature.rarity or "",
        "-" if np.isnan(feature.partial_score) else score_text(feature.partial_score),
        bar(min(float(np.nan_to_num(feature.partial_score)) / full, 1.0)),
        feature.stands_out,
    )


def _partial(feature: BehaviorFeature) -> str:
    return "not scored" if np.isnan(feature.partial_score) else f"partial score {score_text(feature.partial_score)}"


def _percent(share: float) -> str:
    """A percentage that is never rounded up to 100.

    >>> _percent(99.996), _percent(97.52)
    ('99.99', '97.5')
    """
    return f"{min(share, 99.99):.2f}" if share > 99.9 else f"{share:.1f}"


def _nearest(
    shown: RowsShown,
    row: int,
    explanation: RowExplanation,
    telling: list[ContextFeature],
    others: list[str],
    limits: Limits,
) -> Nearest:
    view, rows = shown.view, shown.results.rows
    positions = explanation.reference_positions[: limits.nearest]
    context, behavior = view.store.context(positions), view.store.behavior(positions)
    columns: list[Cell] = []
    cells: list[list[Cell]] = []
    for feature in telling[: limits.nearest_context]:
        place = view.context_place(feature.name)
        column = view.context[place]
        columns.append(Cell(plain(feature.name, limits.cell), column.codes is None))
        decoded = [feature.own, *column.decode(context[:, place])]
        cells.append([Cell(plain(column.format(v), limits.cell), column.codes is None) for v in decoded])
    for judged in explanation.behavior[: limits.nearest_behavior]:
        place = view.behavior_place(judged.name)
        columns.append(Cell(plain(judged.name, limits.cell), True))
        values = [rows.behavior[row, place], *behavior[:, place]]
        cells.append([Cell(judged.format(value), True) for value in values])
    own, taken = rows.table, Table(view.store.original.take(positions))
    for name in others[: limits.nearest_others]:
        columns.append(Cell(plain(name, limits.cell)))
        found = [own.cell(own.find_column(name), row), *taken.cells(taken.find_column(name))]
        cells.append([Cell(_plain_value(value, limits)) for value in found])
    lines = list(zip(*cells, strict=True))
    weights = explanation.leading.weights
    n_columns = len(view.context) + len(view.behavior_names) + len(others)
    taken_names = {shown.names.heading.casefold(), *(column.text.casefold() for column in columns)}
    return Nearest(
        tuple(columns),
        lines[0],
        tuple(
            (
                plain(shown.fitted_names(int(position)), limits.name),
                lines[i + 1],
                f"{explanation.reference_distances[i]:.3f}",
                f"{weights[i]:.1%}",
            )
            for i, position in enumerate(positions)
        ),
        n_columns - len(columns),
        *(_free_name(name, taken_names) for name in OWN_COLUMNS),
    )


def _free_name(name: str, taken: set[str]) -> str:
    """A name that is not taken by a column.

    >>> _free_name("weight", {"age"}), _free_name("weight", {"weight", "age"})
    ('weight', 'weight (paribus)')
    """
    return f"{name} (paribus)" if name in taken else name


def _other_columns(shown: RowsShown) -> list[str]:
    """The columns without a role that both tables have, which may help to recognize a row."""
    table, fitted = shown.results.rows.table, shown.view.store.original
    roles = {*shown.view.behavior_names, *(column.name for column in shown.view.context)}
    there = {fitted.name(p) for p in range(fitted.n_columns)}
    named = None if shown.names.column is None else table.name(shown.names.column)
    names = [table.name(p) for p in range(table.n_columns)]
    return [name for name in names if name not in roles and name in there and name != named]


def _plain_value(value: Any, limits: Limits) -> str:
    if is_missing(value):
        return "missing"
    if isinstance(value, float | np.floating):
        return f"{value:,.6g}"
    # A timestamp in the format of the rest of the page.
    text = str(value).replace("T", " ", 1) if isinstance(value, np.datetime64) else value
    return plain(text, limits.cell)
