"""Which quantities serve as context for the others, if few other columns do."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from paribus.advice.gains import GainMeter

# A context with this share of the information of all other columns is sufficient.
ENOUGH = 0.5
# A context with a smaller share is next to none.
LITTLE = 0.1
# A quantity that explains a smaller share of the others' variance, on average, is not used as context.
MIN_SHARE = 0.05
# Quantities whose ranks have this correlation are measurements of the same thing.
SAME_THING = 0.97


class Promotion:
    """Chooses quantities to use as context.

    Often, circumstances such as time, place and kind explain most of what can be explained: then every quantity is
    judged. Where they do not, some quantities are circumstances of others, and their values do not show which. Extents,
    such as a length, are usually given. Where nothing else is a circumstance, quantities are used in the order of the
    table, because inputs usually precede outcomes. In both cases a quantity must explain some of the remaining ones,
    and no more are used than the context needs to explain half of what all other columns do: what is context is not
    judged. Other measurements of the same thing do not count, if there is any circumstance.

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
    """

    def __init__(
        self, meter: GainMeter, behavior: Sequence[int], context: Sequence[int], n_candidates: int, max_context: int
    ) -> None:
        self._meter = meter
        self._n_candidates = n_candidates
        self._max_context = max_context
        self._chosen = list(context)
        self._has_context = bool(context)
        self._said = {b: self._share(b, context) for b in behavior}
        self._sayable = {b: self._share(b, [*context, *self._others(b)]) for b in behavior}
        self.promoted: list[int] = []
        """The quantities that are used as context, by their places in the behavior."""

    @property
    def says_little(self) -> bool:
        """Whether the context says next to nothing."""
        return not self._says(LITTLE)

    def take(self, quantities: Sequence[int]) -> None:
        """Takes some of these quantities, in this order, until the context says enough."""
        for b in quantities:
            if self._says(ENOUGH) or len(self.promoted) == self._max_context or len(self._said) == 1:
                break
            others = [other for other in self._said if other != b]
            more = {other: self._share(other, [*self._chosen, self._n_candidates + b]) for other in others}
            if sum(more[other] - self._said[other] for other in others) >= MIN_SHARE * len(others):
                self.promoted.append(b)
                self._chosen.append(self._n_candidates + b)
                self._said = more

    def _others(self, behavior: int) -> list[int]:
        return [
            self._n_candidates + other
            for other in self._said
            if other != behavior
            and not (self._has_context and abs(self._meter.correlation(behavior, other)) > SAME_THING)
        ]

    def _says(self, share: float) -> bool:
        return sum(self._said.values()) >= share * sum(self._sayable[b] for b in self._said)

    def _share(self, behavior: int, context: Sequence[int]) -> float:
        """The share of the variance that a context explains, from its information about a normal distribution."""
        return 1.0 - 4.0 ** -max(self._meter.gain(behavior, context).bits, 0.0) if context else 0.0


def promote(
    promotion: Promotion,
    behavior: Sequence[int],
    extents: Collection[int],
    outcomes: Collection[int],
    *,
    has_circumstances: bool,
) -> list[int]:
    """Quantities to use as context, by their places in the behavior: never outcomes, and extents first."""
    if any(b not in extents for b in behavior):
        promotion.take([b for b in behavior if b in extents])
    if promotion.says_little and not has_circumstances:
        promotion.take([b for b in behavior[:-1] if b not in outcomes and b not in promotion.promoted])
    return promotion.promoted
