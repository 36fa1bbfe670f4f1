"""A group of flagged rows with the same cause, and the rule that describes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from paribus._common.arrays import Floats, Positions
from paribus._common.text import counted, expected_text, listed, plain
from paribus.explain.context import ContextColumn
from paribus.explain.rules import cell_text
from paribus.tables.column_format import PRESENCE, CodedFormat, ColumnFormat

# The maximum number of contextual columns that a rule names as irrelevant.
MAX_NAMED = 5

Direction = Literal["equal", "above", "below", "odd"]


@dataclass(frozen=True)
class Circumstance:
    """A condition on one contextual feature."""

    column: ContextColumn = field(repr=False)
    low: float
    """The lowest value; the code of the category for a categorical feature."""
    high: float
    """The highest value; the same code for a categorical feature."""

    def holds(self, values: Floats) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Whether encoded values satisfy the condition; a missing one does only if that is the condition."""
        if np.isnan(self.low):
            return np.asarray(np.isnan(values))
        return np.asarray((values >= self.low) & (values <= self.high))

    @property
    def text(self) -> str:
        """The condition in words: 'zone coast', or 'elevation 10 to 50'."""
        return f"{self.column.format.title} {' to '.join(self._ends)}"

    @property
    def rule(self) -> str:
        """The condition as `known` files write it."""
        name = quoted(self.column.name)
        if np.isnan(self.low):
            return f"{name} is missing"
        ends = [quoted(end) for end in self._exact_ends]
        return f"{name} = {ends[0]}" if self.low == self.high else f"{name} between {ends[0]} and {ends[1]}"

    @property
    def _ends(self) -> list[str]:
        write = self.column.format.telling_apart(self.low, self.high)
        ends = [self.low] if self.low == self.high or np.isnan(self.low) else [self.low, self.high]
        return [write(self.column.decode_one(end)) for end in ends]

    @property
    def _exact_ends(self) -> list[str]:
        decoded = [self.column.format.decoded(self.column.decode_one(end)) for end in (self.low, self.high)]
        return [number_text(end) if isinstance(end, float) else cell_text(end) for end in decoded]


@dataclass(frozen=True, eq=False)
class AnomalyGroup:
    """Flagged rows that are off in the same way and in the same circumstances.

    `str()` gives the rule and the facts about the group.
    """

    number: int
    """The number of the group, from 1; larger groups come first."""
    column: str
    """The behavioral column that is off."""
    direction: Direction
    """How it is off.

    "equal" to one value or category, "above" or "below" what is usual, or "odd" given the other values.
    """
    low: float
    """The lowest value of the group in this column; of categories, the code."""
    high: float
    """The highest value of the group in this column; of categories, the code."""
    value: float
    """The value of the example in this column; of categories, the code."""
    usual_low: float
    """The lower end of the usual range of the example; for one value of many rows, the median over these."""
    usual_high: float
    """The upper end of the usual range of the example; for one value of many rows, the median over these."""
    circumstances: tuple[Circumstance, ...] = field(repr=False)
    """The conditions on the context; empty if the group occurs in all circumstances."""
    also: tuple[str, ...]
    """Other columns that are off in most of the rows, in words."""
    positions: Positions = field(repr=False)
    """The positions of the rows, in descending order of score."""
    labels: tuple[Any, ...] = field(repr=False)
    """The labels of these rows."""
    n_matching: int
    """The number of rows that the rule could apply to.

    For one value those that have it, flagged or not; otherwise the flagged rows in these circumstances.
    """
    coverage: float
    """The share of the flagged rows that are off in this way that the group holds."""
    expected: float
    """The expected number of ordinary rows in these circumstances that are as unusual as the median row of the group.

    0 if the evidence is that one value is repeated, rather than how unusual the rows are.
    """
    p_value: float
    """The probability of a group of this size by chance, corrected for the number of rules tried."""
    first: Any
    """The time of the first row of the group, or its label if the table has no timestamps."""
    last: Any
    """The time of the last row of the group, or its label if the table has no timestamps."""
    has_time: bool
    """Whether `first` and `last` are times."""
    _format: ColumnFormat = field(repr=False)
    _usual_category: str = field(repr=False)
    """The most common category where the example is; empty if the column is numeric."""
    _context: Sequence[str] = field(repr=False)
    """The names of all contextual features."""
    _time: ColumnFormat | None = field(repr=False)

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self.positions)

    @property
    def fit(self) -> float:
        """How well the rule fits: the share of the rows that it could apply to that are in the group."""
        return self.size / max(self.n_matching, 1)

    @property
    def example(self) -> Any:
        """The label of the row with the highest score."""
        return self.labels[0]

    @property
    def rule(self) -> str:
        """What the rows have in common, in words."""
        if self.circumstances:
            where = f", for {listed([each.text for each in self.circumstances], 'and')}"
        else:
            names = [plain(name) for name in self._context[:MAX_NAMED]]
            where = f", for any {listed(names, 'and')}" if len(self._context) <= MAX_NAMED else ", anywhere"
        return f"{self._what}{where}"

    @property
    def _what(self) -> str:
        title = self._format.title
        if self.direction == "odd":
            return f"{title} does not go with the other values"
        if self._is_about_presence:
            return f"{title} is {self._format(self.value)} where it is usually {self._usual_category}"
        if self._is_category:
            return f"{title} is {self._format(self.value)} where {self._usual_category} is usual"
        write = self._format.telling_apart(self.value, self.usual_low, self.usual_high)
        usual_low, usual_high = write(self.usual_low), write(self.usual_high)
        usual = usual_low if self.usual_low == self.usual_high else f"{usual_low} to {usual_high}"
        fact = f"{write(self.value)} where {usual} is usual"
        if self.direction == "equal":
            return f"{title} is {fact}"
        return f"{title} is {self.direction} what is usual, such as {fact}"

    @property
    def _is_category(self) -> bool:
        return isinstance(self._format, CodedFormat)

    @property
    def _is_about_presence(self) -> bool:
        """Whether what is off is that a value is missing, or that it is present."""
        return isinstance(self._format, CodedFormat) and self._format.categories == PRESENCE

    @property
    def known_rule(self) -> str:
        """The rule in the form of `known` files, to mark the group as known."""
        name = quoted(self.column)
        if self._is_about_presence:
            first = f"{name} is {self._format(self.value)}"
        elif isinstance(self._format, CodedFormat) and self.value < len(self._format.categories):
            first = f"{name} = {quoted(cell_text(self._format.categories[int(self.value)]))}"
        elif self.direction == "equal" and not self._is_category:
            first = f"{name} = {number_text(self.low)}"
        else:
            first = f"{name} is {f'{self.direction} usual' if self.direction in ('above', 'below') else 'unusual'}"
        return " and ".join([first, *(each.rule for each in self.circumstances)])

    @property
    def fit_text(self) -> str:
        """How well the rule fits, in words."""
        n, there = self.n_matching, " there" if self.circumstances else ""
        if self.direction == "equal":
            which = f"where it is {self._format(self.value)}" if self._is_about_presence else "with this value"
            how_many = "all" if n == self.size else f"{self.size:,} of the {n:,}"
            return f"{how_many} rows {which}{there} are flagged"
        words = f"all flagged rows{there} are like this"
        return words if n == self.size else f"{self.size:,} of the {n:,} flagged rows{there} are like this"

    @property
    def chance_text(self) -> str:
        """How many were expected by chance, in words."""
        if self.expected == 0.0:
            return "chance alone would not repeat one value this often"
        many = f"about {expected_text(self.expected)}" if self.expected >= 0.001 else "fewer than 0.001"
        return f"by chance, {many} rows would be as unusual"

    @property
    def when_text(self) -> str:
        """The first and the last row, in words."""
        if not self.has_time:
            return f"first row {plain(self.first)}, last row {plain(self.last)}"
        first, last = self.time_text(self.first), self.time_text(self.last)
        return f"on {first}" if first == last else f"{first} to {last}"

    def time_text(self, moment: Any) -> str:
        """A time as text."""
        return str(moment) if self._time is None else self._time(moment)

    def __str__(self) -> str:
        """The rule, its fit, how many are expected by chance, an example, and the first and the last row."""
        also = f" In most of them, {listed(list(self.also), 'and')}." if self.also else ""
        return (
            f"{counted(self.size, 'row')}: {self.rule}.{also} {self.fit_text[0].upper()}{self.fit_text[1:]}; "
            f"{self.chance_text}. Example: row {plain(self.example)}; {self.when_text}."
        )

    def to_dict(self) -> dict[str, Any]:
        """The group as plain values for JSON.

        Returns
        -------
        dict

        Examples
        --------
        >>> from paribus import ConditionalSurprise, datasets
        >>> weather = datasets.load("weather")
        >>> table = {name: list(column) for name, column in weather.table.items()}
        >>> table["wind"][100:112] = [0.0] * 12
        >>> detector = ConditionalSurprise(weather.contextual, weather.behavioral, false_alarms=0.01).fit(table)
        >>> detector.groups()[0].to_dict()["known_rule"]
        'wind = 0'
        """
        return {
            "group": self.number,
            "rule": self.rule,
            "size": self.size,
            "column": self.column,
            "direction": self.direction,
            "low": None if self._is_category else self.low,
            "high": None if self._is_category else self.high,
            "value": self._format(self.value) if self._is_category else self.value,
            "usual_low": None if self._is_category else self.usual_low,
            "usual_high": None if self._is_category else self.usual_high,
            "fit": self.fit,
            "coverage": self.coverage,
            "expected": self.expected,
            "p_value": self.p_value,
            "example": plain_label(self.example),
            "first": self.time_text(self.first) if self.has_time else plain_label(self.first),
            "last": self.time_text(self.last) if self.has_time else plain_label(self.last),
            "known_rule": self.known_rule,
            "positions": self.positions.tolist(),
        }


def quoted(name: str) -> str:
    """A name or a value as rules write it: in double quotes unless it is a single word.

    >>> quoted("rain"), quoted("two words"), quoted('5" pipe')
    ('rain', '"two words"', '"5"" pipe"')
    """
    is_word = all(letter.isalnum() or letter in "._-+:" for letter in name) and name.lower() not in KEYWORDS
    return name if name and is_word else '"' + name.replace('"', '""') + '"'


KEYWORDS = frozenset({"and", "is", "in", "between", "missing", "present", "above", "below", "usual", "unusual"})
"""Words with a meaning in rules."""


def number_text(number: float) -> str:
    """A number as rules write it: exactly, and without a needless decimal.

    >>> number_text(0.0), number_text(2.5)
    ('0', '2.5')
    """
    return str(int(number)) if float(number).is_integer() and abs(number) < 1e15 else repr(float(number))


def plain_label(label: Any) -> Any:
    """A label of a row as a plain value for JSON."""
    label = label.item() if isinstance(label, np.generic) else label
    return label if label is None or isinstance(label, bool | int | float | str) else str(label)
