"""Advice on context."""

from __future__ import annotations

from typing import Any

from paribus._common.validation import check_whole_number
from paribus.advice.suggestion import MAX_CONTEXT, Advice, advise
from paribus.tables.table import Columns


class ContextAdvice(Advice):
    """The kinds of a table's columns, and which of them to use as context: the result of `suggest_context`."""

    def plot(self, ax: Any = None) -> Any:
        """Draws the gains as a heat map.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        GainMapDisplay

        Examples
        --------
        >>> from paribus import datasets, suggest_context
        >>> display = suggest_context(datasets.load("weather").table).plot()
        """
        from paribus.pictures.matplotlib import GainMapDisplay

        return GainMapDisplay.from_advice(self, ax)


def suggest_context(
    table: Any,
    behavioral: Columns | None = None,
    *,
    contextual: Columns | None = None,
    max_context: int = MAX_CONTEXT,
) -> ContextAdvice:
    """Proposes which columns of a table are context.

    Row names, free text, codes and constants are reported and left out. For each behavioral column, the gain of each
    possible context is measured with forests on up to 5,000 rows: its information, in bits, about a value that the
    forest has not seen, by itself and given the others. The proposal starts with the most informative column, then adds
    the one that contributes most, and so on. Treat it as a starting point: you know what the columns mean.

    Parameters
    ----------
    table : pandas, polars or pyarrow table, dict of columns, or array
        The table.
    behavioral : list of names or positions, optional
        The numeric columns to explain. By default those that look like quantities.
    contextual : list of names or positions, optional
        The columns that may be context. By default those that look like circumstances.
    max_context : int
        The maximum number of proposed columns.

    Returns
    -------
    ContextAdvice
        The proposal with its reasons: `contextual`, `behavioral`, `id`, `steps`, `left_out`, `alarms`, and all gains.

    Examples
    --------
    >>> from paribus import datasets, suggest_context
    >>> advice = suggest_context(datasets.load("weather").table)
    >>> sorted(advice.contextual), list(advice.behavioral)
    (['elevation', 'month', 'zone'], ['temperature', 'rain', 'wind'])
    """
    check_whole_number("max_context", max_context, 1)
    return ContextAdvice(**advise(table, behavioral, contextual, max_context))
