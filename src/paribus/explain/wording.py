"""Facts as sentences.

A sentence says what was found and in which circumstances, what is usual there, how rare it is, and with which rows the
row was compared. Each kind of verdict has its own wording, in `WORDINGS`. These use the attributes of a feature, such
as `text`, `range_text` and `is_off`: a new kind of feature defines its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from paribus._common.text import listed, one_in
from paribus.explain.categories import CategoryFeature
from paribus.explain.context import MAX_LISTED, ContextFeature
from paribus.explain.facts import BehaviorFeature, Thinness

# From this partial score on, a value within the usual range lies where comparable rows are sparse.
MIN_SPARSE_SCORE = 50.0
# A feature with a smaller share of the score does not get a clause.
MIN_SHARE = 0.1
# Contextual features that a sentence names.
MAX_CONTEXT_NAMES = 5
# A row that is at most as probable calls for an explanation, which a value with a higher probability is not.
MAX_TELLING_P = 0.01
# Two probabilities that differ by a larger factor say different things.
ALIKE = 10.0
OTHER_VALUES = "the row's other values"
# Probabilities above this are not worth mentioning.
MAX_P_TO_MENTION = 0.1


class Found(NamedTuple):
    """What a sentence is made of."""

    behavior: Sequence[BehaviorFeature]
    """The behavioral features that it may name, the one that is off the most first."""
    context: Sequence[ContextFeature]
    kind: str | None
    """The kind of verdict; None if the method has no kinds."""
    p_value: float
    """The probability that an ordinary row scores as high."""
    is_anomaly: bool

    @property
    def is_striking(self) -> bool:
        """Whether the sentence has to say why the row ranks high, flagged or not."""
        return self.is_anomaly or (self.leading.verdict is not None and self.p_value <= MAX_TELLING_P)

    @property
    def leading(self) -> BehaviorFeature:
        """The feature that is named first."""
        return self.behavior[0]

    @property
    def off(self) -> list[BehaviorFeature]:
        """The features that are off, contribute to the score, and have a usual range to compare with."""
        return [
            each
            for each in self.behavior
            if each.is_off
            and (each is self.leading or each.share >= MIN_SHARE)
            and (each is self.leading or each.stands_out or each.range_given_others is not None)
        ]


def sentence(found: Found, group: str) -> str:
    """What stands out in a row, and compared with which rows."""
    return f"{statement(found)}. Compared with {group}."


def statement(found: Found) -> str:
    """What stands out in a row, in its circumstances; what is usual there; and how rare it is."""
    if not found.leading.is_off and not found.is_striking:
        return _ordinary(found)
    return WORDINGS.get(found.kind, _value)(found)


def group(context: Sequence[ContextFeature], thinness: Thinness, *, by_leaves: bool, is_new: bool) -> str:
    """Which rows a row is compared with: those that share leaves of a forest with it, or the nearest ones."""
    noun = "fitted row" if is_new else "row"
    n_rows, n_counting = thinness.n_rows, thinness.n_counting
    rows = f"1 {noun}" if n_counting == 1 else f"{n_counting:,} {noun}s"
    if not by_leaves:
        nearest = f"the nearest {noun}" if n_rows == 1 else f"the {n_rows:,} nearest {noun}s"
        counting = "counts" if n_counting == 1 else "count"
        rows = nearest if n_counting == n_rows else f"{nearest}, of which {n_counting:,} {counting}"
    # Long lists of categories are not informative.
    same, others = [], []
    for each in _most_telling(context):
        if each.sets_apart and len(each.categories) <= MAX_LISTED:
            if each.is_same:
                same.append(each.title)
            else:
                others.append(f"{each.title} {each.group_text}")
    words = [f"with the same {listed(same, 'and')}"] if same else []
    words += [f"with {listed(others, 'and')}"] if others else []
    return f"{rows}, mostly {', and '.join(words)}" if words else rows


def _most_telling(context: Sequence[ContextFeature]) -> list[ContextFeature]:
    """The contextual features that a sentence names: of many, those that set the comparable rows apart the most."""
    if len(context) <= MAX_CONTEXT_NAMES:
        return list(context)
    ranked = sorted(context, key=lambda each: (each.warning is None, each.table_share / max(each.share, 1e-9)))
    kept = ranked[:MAX_CONTEXT_NAMES]
    return [each for each in context if any(each is one for one in kept)]


def _circumstances(found: Found) -> str:
    """The row's own context: 'where month is January, elevation 1,900 and zone inland'."""
    first, *others = _most_telling(found.context)
    words = [f"{first.title} is {first.text}", *(f"{each.title} {each.text}" for each in others)]
    return f"where {listed(words, 'and')}"


def _ordinary(found: Found) -> str:
    first = found.leading
    if not first.has_reference:
        return f"{first.text} {_circumstances(found)}: no comparable row has a value"
    return f"{first.text} {_circumstances(found)} is as usual: {_usual(first)}"


def _value(found: Found) -> str:
    """One value is wrong."""
    first = found.leading
    words = f"{first.text} {_circumstances(found)}: {_usual(first)}"
    stated = _p_value_of(found)
    does_not_tell = found.is_striking and stated > max(found.p_value, MAX_TELLING_P)
    words += "" if does_not_tell else _rarity(first, stated)
    words += _also([each for each in found.off if each is not first])
    return words + (_overall(found, stated) if does_not_tell or _says_other(found, stated) else "")


def _p_value_of(found: Found) -> float:
    """How rare the leading value is, as it is stated; NaN if it is not."""
    feature, verdict = found.leading, found.leading.verdict
    if verdict is None or isinstance(feature, CategoryFeature):
        return math.nan
    if verdict.p_value_given_all is None:
        # It is the only value that is judged: how rare it is, is how rare the row is.
        return found.p_value
    together = verdict.p_value_given_all if _is_odd_together(feature) else None
    return verdict.p_value if together is None else together


def _says_other(found: Found, stated: float) -> bool:
    """Whether what is stated of a value is far from how rare the row is, so that both have to be said."""
    # Among many values, one of a row is often far off: what is stated of it must not alarm.
    return found.p_value > ALIKE * stated or (found.is_striking and stated > ALIKE * found.p_value)


def _overall(found: Found, stated: float = 1.0) -> str:
    """A further sentence on how rare the row is, after a probability that is stated of a value."""
    rare = _only(found.p_value, "comparable rows", "this unusual")
    return f". Overall, {rare.removeprefix('only ') if found.p_value > stated else rare}"


def _is_odd_together(feature: BehaviorFeature) -> bool:
    """Whether a value is odd only among the rows that have its other values, too: that is what is stated then."""
    return feature.is_odd_given_others and not feature.stands_out


def _whole(found: Found) -> str:
    """The row as a whole does not fit its circumstances."""
    off = found.off
    if len(off) == 1:
        return _value(found)
    if not off:
        named = listed([each.text for each in found.behavior], "and")
        rare = _only(found.p_value, "comparable rows", "this unusual")
        return f"{named} {_circumstances(found)}: each of them is within its usual range, but overall {rare}"
    named = listed([_with_range(each) for each in off], "and")
    return f"{named}, {_circumstances(found)}{_overall(found)}"


def _combination(found: Found) -> str:
    """Values that do not go together."""
    first = found.leading
    odd = [each for each in found.behavior if each.is_odd_given_others]
    if not first.is_odd_given_others:
        named = [each.noun for each in (odd or found.behavior)]
        rare = _only(found.p_value, "comparable rows", "as unusual a combination", verb="has")
        odd_one = f"{named[0]} does not go with {OTHER_VALUES}"
        what = odd_one if len(named) == 1 else f"{listed(named, 'and')} do not go together"
        return f"{what} {_circumstances(found)}: {rare}"
    others = [each.noun for each in odd if each is not first]
    partner = listed(others, "and") if others else OTHER_VALUES
    words = f"{first.noun} does not go with {partner} {_circumstances(found)}: "
    assert first.verdict is not None
    assert first.verdict.p_value_given_all is not None
    usual, p_value = first.range_given_others, first.verdict.p_value_given_all
    if usual is None:
        words += _only(p_value, "rows with such values", _how(first))
    else:
        words += f"rows with such values have {usual} (90 %), and {_only(p_value, 'of them', _how(first))}"
    words += _also([each for each in found.off if each is not first and each not in odd])
    return words + (_overall(found, p_value) if _says_other(found, p_value) else "")


WORDINGS: dict[str | None, Callable[[Found], str]] = {"whole": _whole, "combination": _combination, "value": _value}
"""The wording of each kind of verdict; for methods without kinds, that of a value."""


def _also(others: Sequence[BehaviorFeature]) -> str:
    """A further sentence about values that are off as well; empty if there are none."""
    return f". Also unusual: {listed([_with_range(each) for each in others], 'and')}" if others else ""


def _usual(feature: BehaviorFeature) -> str:
    """What comparable rows have."""
    if isinstance(feature, CategoryFeature):
        return feature.usual
    if not feature.has_reference:
        return "no comparable row has a value"
    if feature.has_one_value:
        return f"all comparable rows have {feature.range_text}"
    if feature.is_point:
        return f"90 % of comparable rows have exactly {feature.range_text}"
    words = f"comparable rows have {feature.range_text} (90 %)"
    return f"{words}, but hardly any between {feature.gap_text}" if feature.direction == "in a gap" else words


def _with_range(feature: BehaviorFeature) -> str:
    """The value, and in parentheses what comparable rows have."""
    if isinstance(feature, CategoryFeature):
        return f"{feature.text} ({feature.usual})"
    if not feature.has_reference:
        return feature.text
    if feature.has_one_value:
        always = "as always, but rare with its other values"
        if feature.stands_out:
            always = f"otherwise always {feature.range_text}"
        return f"{feature.text} ({always})"
    if feature.direction == "in a gap":
        return f"{feature.text} (hardly ever between {feature.gap_text})"
    if not feature.stands_out and feature.range_given_others is not None:
        return f"{feature.text} (usually {feature.range_given_others} with its other values)"
    return f"{feature.text} (usually {feature.range_text})"


def _rarity(feature: BehaviorFeature, stated: float) -> str:
    """How rare the value is, as it is stated, as the end of what is usual."""
    if feature.verdict is None:
        is_sparse = feature.direction == "within" and feature.partial_score >= MIN_SPARSE_SCORE
        return ", but few of them near it" if is_sparse else ""
    together = feature.verdict.p_value_given_all
    if _is_odd_together(feature) and together is not None:
        rare = _only(together, "of them", _how(feature))
        usual = None if isinstance(feature, CategoryFeature) else feature.range_given_others
        if usual is None:
            return f", but among those with its other values, {_only(together, '', _how(feature))}"
        return f", but those with its other values {usual}, and {rare}"
    # `usual` already states how common a category is.
    if isinstance(feature, CategoryFeature) or stated > MAX_P_TO_MENTION:
        return ""
    joint = ", but" if feature.direction == "within" else ", and"
    return f"{joint} {_only(stated, '', _how(feature))}"


def _how(feature: BehaviorFeature) -> str:
    """How a value is unusual: outside its range, or rare within it."""
    is_outside = feature.direction.endswith(("above", "below"))
    is_outside_given_others = feature.range_given_others is not None and _is_odd_together(feature)
    return "this far off" if is_outside or is_outside_given_others else "as rare"


def _only(p_value: float, rows: str, how: str, verb: str = "is") -> str:
    """How few rows are as unusual: 'only about 1 in 9,000 comparable rows is this unusual'."""
    words = one_in(p_value)
    few = words if words.startswith("fewer") else f"only {words}"
    return " ".join(word for word in (few, rows, verb, how) if word)
