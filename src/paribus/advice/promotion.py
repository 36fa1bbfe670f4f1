"""Which quantities serve as context for the others, if few other columns do."""

from __future__ import annotations

from collections.abc import Sequence

from paribus.advice.gains import GainMeter

# A context with this share of the information of all other columns is sufficient.
ENOUGH = 0.5
# A quantity that explains a smaller share of the others' variance, on average, is not used as context.
MIN_SHARE = 0.05


def promote(
    meter: GainMeter, behavior: Sequence[int], context: Sequence[int], n_candidates: int, max_context: int
) -> list[int]:
    """Quantities to use as context, by position in `behavior`.

    Circumstances such as time, place and kind often say most of what there is to say: then every quantity is judged.
    Where they do not, as in a table of what went into a mixture and how strong it became, some quantities are
    circumstances of others. Numbers cannot tell which. Tables are mostly written with what was given before what came
    of it, so quantities are taken in the order of the table, if they add something about those that remain, until the
    context says half of what all other columns say. No more than that: what is context is not judged.

    Parameters
    ----------
    meter : GainMeter
        Measures gains. Its candidates are the circumstances, and after them the quantities.
    behavior : sequence of int
        The places of the quantities, in the order of the table.
    context : sequence of int
        The places of the circumstances among the candidates.
    n_candidates : int
        The number of candidates that are circumstances.
    max_context : int
        The maximum number of quantities to take.

    Returns
    -------
    list of int
    """
    everything = [*context, *(n_candidates + b for b in behavior)]
    said = {b: _share(meter, b, context) for b in behavior}
    sayable = {b: _share(meter, b, [c for c in everything if c != n_candidates + b]) for b in behavior}
    chosen = list(context)
    promoted: list[int] = []
    for b in list(behavior)[:-1]:
        is_enough = sum(said.values()) >= ENOUGH * sum(sayable[other] for other in said)
        if is_enough or len(promoted) == max_context:
            break
        others = [other for other in said if other != b]
        more = {other: _share(meter, other, [*chosen, n_candidates + b]) for other in others}
        if sum(more[other] - said[other] for other in others) >= MIN_SHARE * len(others):
            promoted.append(b)
            chosen.append(n_candidates + b)
            said = more
    return promoted


def _share(meter: GainMeter, behavior: int, context: Sequence[int]) -> float:
    """The share of the variance that a context explains, from its information about a normal distribution."""
    return 1.0 - 4.0 ** -max(meter.gain(behavior, context).bits, 0.0) if context else 0.0
