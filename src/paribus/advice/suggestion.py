"""Proposes which columns are context and which are behavior, with reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paribus._common.arrays import Floats
from paribus._common.text import counted, listed
from paribus.advice.columns import MAX_FEW_VALUES, ColumnLook, Nature, look_at_columns
from paribus.advice.gains import Gain, GainMeter
from paribus.advice.promotion import Promotion, promote
from paribus.advice.relations import are_nearly_equal, is_cut_from, is_other_scale
from paribus.advice.steps import Proposal, Step, is_informative
from paribus.tables.column import Kind
from paribus.tables.table import Columns, Table

MAX_MEASURED, MAX_CANDIDATES, MAX_CONTEXT = 16, 16, 8
# A column that is predicted with a smaller relative error is determined by its context: nothing is left to judge.
DETERMINED = 0.06
# A column in which one value has a larger share of the rows is nearly constant.
NEARLY_CONSTANT = 0.95
# With fewer rows, gains cannot be measured.
MIN_ROWS = 20
# If no more rows share the same categories, rows are hardly comparable.
MIN_COMPARABLE = 3


@dataclass(frozen=True)
class Advice:
    """The kinds of a table's columns, and which of them to use as context."""

    looks: tuple[ColumnLook, ...]
    """All columns, in the order of the table."""
    behavioral: tuple[str, ...]
    """The behavioral columns: those that were given, or that are proposed."""
    measured: tuple[str, ...]
    """The first few of them, for which gains were measured."""
    candidates: tuple[str, ...]
    """The columns that may be context."""
    alone: tuple[tuple[Gain, ...], ...]
    """[measured column][candidate]: the bits of information of a candidate by itself."""
    beyond: tuple[tuple[Gain, ...], ...]
    """[measured column][candidate]: the bits that it adds to all other candidates."""
    steps: tuple[Step, ...]
    """The proposed context, the most informative column first."""
    left_out: dict[str, str]
    """The columns that are neither context nor behavior, and why."""
    alarms: tuple[str, ...]
    """Warnings about the proposal."""
    id: str | None
    """The column that names the rows, if there is one."""

    @property
    def contextual(self) -> list[str]:
        """The proposed contextual columns, the most informative one first."""
        return [step.name for step in self.steps]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values.

        Returns
        -------
        dict

        Examples
        --------
        >>> from paribus import datasets, suggest_context
        >>> sorted(suggest_context(datasets.load("weather").table).to_dict())
        ['alarms', 'behavioral', 'columns', 'contextual', 'gains', 'id', 'left_out']
        """
        return {
            "contextual": self.contextual,
            "behavioral": list(self.behavioral),
            "id": self.id,
            "columns": [
                {
                    "name": look.name,
                    "looks_like": look.nature.value,
                    "why": look.why,
                    "missing": look.n_missing,
                    "distinct": look.n_distinct,
                }
                for look in self.looks
            ],
            "gains": [
                {
                    "behavior": behavior,
                    "context": candidate,
                    "alone": _plain(self.alone[b][c]),
                    "beyond_the_others": _plain(self.beyond[b][c]),
                }
                for b, behavior in enumerate(self.measured)
                for c, candidate in enumerate(self.candidates)
            ],
            "left_out": self.left_out,
            "alarms": list(self.alarms),
        }

    def __str__(self) -> str:
        lines = [
            f"context: {', '.join(self.contextual) or 'none'}",
            f"behavior: {', '.join(self.behavioral) or 'none'}",
        ]
        lines += [f"{step.name}: {step}" for step in self.steps]
        lines += [f"left out: {name}: {why}" for name, why in self.left_out.items()]
        return "\n".join([*lines, *(f"warning: {alarm}" for alarm in self.alarms)])


def _plain(gain: Gain) -> dict[str, float]:
    return {"bits": gain.bits, "low": gain.low, "high": gain.high}


def advise(data: Any, behavioral: Columns | None, contextual: Columns | None, max_context: int) -> dict[str, Any]:
    """The fields of an `Advice` about a table."""
    table = Table(data)
    if table.n_rows == 0 or table.n_columns == 0:
        raise ValueError("the table has no rows or no columns")
    looks = look_at_columns(table)
    left_out = {look.name: look.why for look in looks if not _is_usable(look)}
    id_column = min((look for look in looks if look.nature is Nature.ID), key=_id_rank, default=None)
    behavior = _behavior(table, looks, behavioral, contextual)
    candidates = _candidates(table, looks, behavior, contextual, left_out)
    if contextual is None and behavioral is not None:
        # Where it is known what is to be explained, any other quantity may explain it.
        candidates += [look for look in looks if look.nature is Nature.QUANTITY and look not in behavior]
    may_promote = contextual is None and behavioral is None and len(behavior) > 1
    fields = {"looks": tuple(looks), "left_out": left_out, "id": None if id_column is None else id_column.name}
    if not behavior or not (candidates or may_promote) or table.n_rows < MIN_ROWS:
        named = tuple(look.name for look in behavior)
        return fields | {
            "behavioral": named,
            "measured": (),
            "candidates": (),
            "alone": (),
            "beyond": (),
            "steps": (),
            "alarms": ("there are too few rows or columns to measure the information of a context",),
        }
    is_given = behavioral is not None
    return fields | _measured(
        table, behavior, candidates, left_out, max_context, is_given=is_given, may_promote=may_promote
    )


def _measured(
    table: Table,
    behavior: list[ColumnLook],
    candidates: list[ColumnLook],
    left_out: dict[str, str],
    max_context: int,
    *,
    is_given: bool,
    may_promote: bool,
) -> dict[str, Any]:
    for look in candidates[MAX_CANDIDATES:]:
        left_out[look.name] = f"only {MAX_CANDIDATES} columns are considered as context"
    # Gains are those of densities, which say too much about a column of few values.
    varying = [look for look in behavior if is_given or not _hardly_varies(look)] or behavior
    measured = varying[:MAX_MEASURED]
    unmeasured = [look.name for look in behavior if look not in measured]
    behavior, candidates = measured, candidates[:MAX_CANDIDATES]
    offered = [*candidates, *(behavior if may_promote else [])]
    categorical = frozenset(look.position for look in offered if table.kind(look.position) is Kind.CATEGORICAL)
    meter = GainMeter(table, [look.position for look in offered], categorical, [look.position for look in behavior])
    alarms: list[str] = []
    kept = list(range(len(behavior)))
    usable = set(range(len(candidates)))
    for b, look in enumerate(behavior):
        for c, candidate in enumerate(candidates):
            # The dimensions of a thing follow from its size, and are judged all the same.
            may_follow = candidate.nature is Nature.SIZE and not is_given
            is_determined = meter.error(b, [c]) < DETERMINED and not may_follow
            if not is_determined and not _is_same(candidate, look):
                continue
            alarms.append(_determined(candidate, look))
            if not is_given and len(kept) > 1 and b in kept:
                # A quantity that the circumstances determine is a circumstance, too.
                kept.remove(b)
                left_out[look.name] = f"{candidate.name} determines it, which leaves nothing to judge"
            elif candidate.numbers is not None and c in usable:
                usable.discard(c)
                left_out[candidate.name] = f"it determines {look.name}, and would hide its errors"
    promoted: list[int] = []
    if may_promote:
        for b, original in _rescaled(behavior, kept).items():
            kept.remove(b)
            left_out[behavior[b].name] = f"it is {original} on another scale"
        extents = {b for b in kept if behavior[b].is_extent}
        outcomes = {b for b in kept if behavior[b].is_outcome}
        promotion = Promotion(meter, kept, sorted(usable), len(candidates), max_context)
        evident = [c for c in usable if candidates[c].nature is not Nature.FEW_NUMBERS]
        promoted = promote(promotion, kept, extents, outcomes, has_circumstances=bool(evident))
    in_context = [*sorted(usable), *(len(candidates) + b for b in promoted)]
    judged = [b for b in kept if b not in promoted]
    names = {b: behavior[b].name for b in judged}
    steps = Proposal(meter, names, {c: offered[c].name for c in in_context}).greedy(max_context)
    if not steps and usable:
        alarms.append("no column predicts the behavior, so the choice of context hardly matters")
        steps = Proposal(meter, names, {c: candidates[c].name for c in sorted(usable)[:max_context]}).all()
    chosen = {step.name for step in steps}
    # What is not needed as context is judged like the others.
    judged = [b for b in kept if behavior[b].name not in chosen]
    places = [c for c, look in enumerate(offered) if c < len(candidates) or look.name in chosen]
    others = {c: [other for other in places if other != c] for c in places}
    alone = [[meter.gain(b, [c]) for c in places] for b in judged]
    beyond = [[meter.gain(b, [c], others[c]) for c in places] for b in judged]
    for place, c in enumerate(places):
        name = offered[c].name
        if name in chosen or name in left_out:
            continue
        is_redundant = is_informative([gains[place] for gains in alone])
        left_out[name] = "the proposed context has the same information" if is_redundant else "it predicts nothing"
    alarms += _thin(table, [offered[c] for c in places if offered[c].name in chosen])
    if not steps:
        alarms.append("no column predicts the behavior, and none looks like a circumstance")
    return {
        "left_out": left_out,
        "behavioral": (*(behavior[b].name for b in judged), *unmeasured),
        "measured": tuple(behavior[b].name for b in judged),
        "candidates": tuple(offered[c].name for c in places),
        "alone": tuple(tuple(gains) for gains in alone),
        "beyond": tuple(tuple(gains) for gains in beyond),
        "steps": tuple(steps),
        "alarms": tuple(alarms),
    }


def _hardly_varies(look: ColumnLook) -> bool:
    known = _numbers(look)[~np.isnan(_numbers(look))]
    _, counts = np.unique(known, return_counts=True)
    return len(counts) <= MAX_FEW_VALUES or bool(counts.max() > NEARLY_CONSTANT * len(known))


def _is_same(candidate: ColumnLook, behavior: ColumnLook) -> bool:
    return candidate.numbers is not None and is_other_scale(candidate.numbers, _numbers(behavior))


def _rescaled(behavior: list[ColumnLook], kept: list[int]) -> dict[int, str]:
    """The columns that are others on another scale and are called after these, as lprice is after price."""
    found: dict[int, str] = {}
    for b in kept:
        for other in kept:
            name, original = behavior[b].name, behavior[other].name
            is_called_after = len(original) < len(name) and original.lower() in name.lower()
            if is_called_after and b not in found and is_other_scale(_numbers(behavior[b]), _numbers(behavior[other])):
                found[b] = original
    return found


def _determined(candidate: ColumnLook, behavior: ColumnLook) -> str:
    if candidate.numbers is None:
        return (
            f"{candidate.name} determines {behavior.name}: rows with the same {candidate.name} have about the same "
            f"{behavior.name}"
        )
    return f"{candidate.name} determines {behavior.name}: one is a copy of the other, or derived from it"


def _id_rank(look: ColumnLook) -> tuple[bool, bool, int]:
    """Names come before numbers, and both before the number of the row."""
    return look.is_row_number, look.numbers is not None, look.position


def _is_usable(look: ColumnLook) -> bool:
    return look.nature.is_circumstance or look.nature is Nature.QUANTITY


def _behavior(
    table: Table, looks: list[ColumnLook], behavioral: Columns | None, contextual: Columns | None
) -> list[ColumnLook]:
    if behavioral is not None:
        chosen = [looks[table.find_column(key)] for key in _as_list(behavioral)]
        for look in chosen:
            if table.kind(look.position) is not Kind.NUMERIC:
                raise TypeError(
                    f"column '{look.name}' does not hold numbers: gains are measured for numeric behavior only"
                )
        return chosen
    taken = set() if contextual is None else {table.find_column(key) for key in _as_list(contextual)}
    numeric = [look for look in looks if table.kind(look.position) is Kind.NUMERIC and look.position not in taken]
    found = [look for look in numeric if look.nature is Nature.QUANTITY]
    if not found:
        found = [look for look in numeric if look.nature is Nature.SIZE]
    if not found:
        # If all numeric columns have few distinct values, those with the most are used.
        few = [look for look in numeric if look.nature is Nature.FEW_NUMBERS]
        found = sorted(few, key=lambda look: -look.n_distinct)[:1]
    return found


def _candidates(
    table: Table,
    looks: list[ColumnLook],
    behavior: list[ColumnLook],
    contextual: Columns | None,
    left_out: dict[str, str],
) -> list[ColumnLook]:
    if contextual is not None:
        return [looks[table.find_column(key)] for key in _as_list(contextual)]
    found = [look for look in looks if look.nature.is_circumstance and look not in behavior]
    moments = [look for look in found if look.nature is Nature.MOMENT]
    for look in list(found):
        if moments and look.nature is Nature.TIME_PART:
            left_out[look.name] = f"{moments[0].name} has it"
            found.remove(look)
        elif look in moments[1:] and are_nearly_equal(_numbers(moments[0]), _numbers(look)):
            left_out[look.name] = (
                f"it is nearly the same timestamp as {moments[0].name}; to judge the time between the two, add it as a "
                "column"
            )
            found.remove(look)
        elif look.nature in (Nature.CATEGORY, Nature.FEW_NUMBERS):
            values = np.array(table.categories(look.position)) if look.numbers is None else look.numbers
            cut = next((each.name for each in behavior if is_cut_from(values, _numbers(each))), None)
            if cut is not None:
                left_out[look.name] = f"it is derived from {cut}, and would hide its errors"
                found.remove(look)
    return found


def _numbers(look: ColumnLook) -> Floats:
    assert look.numbers is not None
    return look.numbers


def _thin(table: Table, chosen: list[ColumnLook]) -> list[str]:
    """A warning if hardly any rows share the same categories."""
    categories = [look for look in chosen if table.kind(look.position) is Kind.CATEGORICAL]
    if len(categories) < 2:
        return []
    rows = list(zip(*(table.categories(look.position) for look in categories), strict=True))
    counts: dict[Any, int] = {}
    for row in rows:
        counts[row] = counts.get(row, 0) + 1
    median = float(np.median([counts[row] for row in rows]))
    if median >= MIN_COMPARABLE:
        return []
    names = listed([look.name for look in categories], "and")
    return [
        f"hardly any rows are comparable in {names} together: half of them have {counted(int(median), 'row')} or fewer"
    ]


def _as_list(columns: Columns) -> Sequence[Any]:
    return [columns] if isinstance(columns, str | int) else columns
