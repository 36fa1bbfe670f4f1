"""Rules about rows, as people write them: `z = 0`, or `wind is above usual and month = January`.

A rule is a list of conditions joined by `and`. It is parsed here, condition by condition; nothing in it is executed.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from paribus.tables.column import Kind, is_missing
from paribus.tables.table import Table

FORMS = (
    "column = value, column != value, column < value (or <=, >, >=), column between value and value, "
    "column in (value, value), column is missing, column is present, "
    "column is unusual, column is above usual, column is below usual"
)
MAX_LENGTH = 10_000  # characters
_TOKEN = re.compile(r"""\s*(?:"((?:[^"]|"")*)"|(<=|>=|!=|[<>=(),])|([^\s"<>=!(),]+))""")
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Token:
    """A word, a text in double quotes, or a sign."""

    text: str
    is_quoted: bool = False

    def is_word(self, word: str) -> bool:
        """Whether this is a keyword: a word that is not in quotes, in any case."""
        return not self.is_quoted and self.text.lower() == word


@dataclass(frozen=True)
class Condition:
    """A condition on one column."""

    column: str
    form: str
    """A comparison, "between", "in", "missing", "present", "unusual", "above" or "below"."""
    values: tuple[str, ...] = ()

    @property
    def is_about_usual(self) -> bool:
        """Whether the condition is about what is usual, so that it needs the verdict on the row."""
        return self.form in ("unusual", "above", "below")

    def holds(self, table: Table) -> Flags:
        """Whether each row of a table satisfies a condition on its values. A missing value satisfies no comparison."""
        position = table.find_column(self.column)
        if self.form in ("missing", "present"):
            is_wanted = self.form == "missing"
            return np.array([is_missing(cell) is is_wanted for cell in table.cells(position)], dtype=bool)
        kind = table.kind(position)
        if kind.is_number:
            cells: npt.NDArray[Any] = table.numbers(position)
            wanted: list[Any] = [self._number(value, kind) for value in self.values]
            known = ~np.isnan(cells)
        else:
            cells = np.array(["" if cell is None else cell_text(cell) for cell in table.cells(position)], dtype=object)
            wanted = list(self.values)
            known = np.array([not is_missing(cell) for cell in table.cells(position)], dtype=bool)
            if self.form not in ("=", "!=", "in"):
                raise ValueError(f"column '{self.column}' holds text, which is compared by = , != or in")
        if self.form == "between":
            return np.asarray(known & (cells >= wanted[0]) & (cells <= wanted[1]))
        if self.form == "in":
            return np.asarray(known & np.isin(cells, wanted))
        return np.asarray(known & _COMPARISONS[self.form](cells, wanted[0]).astype(bool))

    def _number(self, text: str, kind: Kind) -> float:
        try:
            if kind is Kind.NUMERIC:
                return float(text)
            moment = datetime.fromisoformat(text)
            if moment.tzinfo is not None:
                moment = moment.astimezone(UTC).replace(tzinfo=None)
            return float(np.datetime64(moment, "us").astype(np.int64))
        except (ValueError, OverflowError):
            what = "a number" if kind is Kind.NUMERIC else "a date such as 2026-01-31"
            raise ValueError(f"column '{self.column}' is compared with {text!r}, which is not {what}") from None


@dataclass(frozen=True)
class Rule:
    """Conditions that all must hold."""

    text: str
    conditions: tuple[Condition, ...]

    @property
    def on_values(self) -> tuple[Condition, ...]:
        """The conditions on the values of a row."""
        return tuple(each for each in self.conditions if not each.is_about_usual)

    @property
    def on_usual(self) -> tuple[Condition, ...]:
        """The conditions on what is unusual about a row."""
        return tuple(each for each in self.conditions if each.is_about_usual)


def parse_rule(text: str) -> Rule:
    """Reads a rule.

    >>> parse_rule('z = 0 and "cut grade" in (Ideal, "Very Good")').conditions[1]
    Condition(column='cut grade', form='in', values=('Ideal', 'Very Good'))
    >>> parse_rule("z is zero")
    Traceback (most recent call last):
    ...
    ValueError: the rule 'z is zero' is not understood at 'zero': conditions are joined by 'and', and each is one of
    column = value, ...
    """
    if len(text) > MAX_LENGTH:
        raise ValueError(f"a rule has {len(text):,} characters, which is more than {MAX_LENGTH:,}")
    return _Parser(text).rule()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[Token] = []
        self._next = 0
        place = 0
        while text[place:].strip():
            match = _TOKEN.match(text, place)
            if match is None:
                raise self._error(text[place:].strip()[:20])
            quoted, sign, word = match.groups()
            is_quoted = quoted is not None
            self._tokens.append(Token(quoted.replace('""', '"') if is_quoted else sign or word, is_quoted))
            place = match.end()

    def rule(self) -> Rule:
        conditions = [self._condition()]
        while self._next < len(self._tokens):
            self._expect("and")
            conditions.append(self._condition())
        return Rule(self._text, tuple(conditions))

    def _condition(self) -> Condition:
        column, token = self._take(), self._take()
        if not token.is_quoted and token.text in _COMPARISONS:
            return Condition(column.text, token.text, (self._take().text,))
        if token.is_word("between"):
            low = self._take().text
            self._expect("and")
            return Condition(column.text, "between", (low, self._take().text))
        if token.is_word("in"):
            self._expect("(")
            values = [self._take().text]
            while self._expect(",", ")").text == ",":
                values.append(self._take().text)
            return Condition(column.text, "in", tuple(values))
        if not token.is_word("is"):
            raise self._error(token.text)
        how = self._expect("missing", "present", "unusual", "above", "below").text.lower()
        if how in ("above", "below"):
            self._expect("usual")
        return Condition(column.text, how)

    def _expect(self, *words: str) -> Token:
        token = self._take()
        if not any(token.is_word(word) for word in words):
            raise self._error(token.text)
        return token

    def _take(self) -> Token:
        if self._next == len(self._tokens):
            raise self._error("the end")
        self._next += 1
        return self._tokens[self._next - 1]

    def _error(self, where: str) -> ValueError:
        return ValueError(
            f"the rule {self._text[:100]!r} is not understood at {where[:40]!r}: conditions are joined by 'and', "
            f"and each is one of {FORMS}; names and values with spaces are in double quotes"
        )


def cell_text(cell: Any) -> str:
    """A category as rules write it.

    >>> cell_text(True), cell_text(4.0), cell_text("coast")
    ('true', '4', 'coast')
    """
    if isinstance(cell, float | np.floating) and float(cell).is_integer():
        return str(int(cell))
    if isinstance(cell, bool | np.bool_):
        return "true" if cell else "false"
    return str(cell)
