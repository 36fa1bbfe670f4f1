"""Facts as sentences."""

from __future__ import annotations

from collections.abc import Sequence

from paribus.explain.context import ContextFeature
from paribus.explain.facts import BehaviorFeature, Thinness

# From this partial score on, a value within the usual range lies where comparable rows are sparse.
MIN_SPARSE_SCORE = 50.0
# A feature with a smaller share of the score does not get a clause.
MIN_SHARE = 0.1
# Contextual features that a sentence names.
MAX_CONTEXT_NAMES = 5


def group(context: Sequence[ContextFeature], thinness: Thinness, *, by_leaves: bool) -> str:
    """Which rows a row is compared with: those that share leaves of a forest with it, or the nearest ones."""
    telling = [feature for feature in context if feature.sets_apart]
    kept = sorted(telling, key=lambda feature: feature.table_share / feature.share)[:MAX_CONTEXT_NAMES]
    words = [f"{feature.title} {feature.group_text}" for feature in telling if feature in kept]
    n_rows, n_counting = thinness.n_rows, thinness.n_counting
    rows = "the nearest row" if n_rows == 1 else f"the {n_rows:,} nearest rows"
    if by_leaves:
        rows = "1 comparable row counts" if n_counting == 1 else f"{n_counting:,} comparable rows count"
    elif n_counting < n_rows:
        rows = f"{n_counting:,} of {rows} count" + ("s" if n_counting == 1 else "")
    return f"{rows}, mostly with {', '.join(words)}" if words else rows


def sentence(features: Sequence[BehaviorFeature], group: str) -> str:
    """What stands out in a row. The features are in descending order of partial score."""
    first = features[0]
    others = [feature for feature in features[1:] if feature.share >= MIN_SHARE]
    outside = [feature for feature in others if feature.stands_out]
    # Values within their usual range that do not go together with the others.
    unlikely = [feature for feature in others if not feature.stands_out and feature.is_unlikely]
    verb = "is in a gap of" if first.direction == "in a gap" else f"is {first.direction}"
    words = f"{first.text} {verb} what comparable rows show"
    if first.rarity is not None:
        words += f", {'but' if first.direction == 'within' else 'and'} {first.rarity}"
    elif first.direction == "within" and first.partial_score >= MIN_SPARSE_SCORE:
        words += ", but in a sparse region"
    words += f" ({first.expectation}; {group})"
    also = [f"also {feature.direction}: {feature.text} ({feature.expectation})" for feature in outside]
    also += [f"also odd: {feature.text}, since {feature.rarity} ({feature.expectation})" for feature in unlikely]
    return "; ".join([words, *also])
