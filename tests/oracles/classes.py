"""Class frequencies and the tails of categories, as plain code."""

from __future__ import annotations


def tail(probabilities: list[float], own: float) -> float:
    """The probability of a category that is at most as probable."""
    return min(1.0, sum(each for each in probabilities if each <= own * (1 + 1e-9)))


def class_shares(leaves: list[list[int]], n_classes: int, strength: float) -> list[float]:
    """The means over leaves of count / (n + strength), and of strength / (n + strength)."""
    shares = [
        sum(leaf.count(each) / (len(leaf) + strength) for leaf in leaves) / len(leaves) for each in range(n_classes)
    ]
    return [*shares, sum(strength / (len(leaf) + strength) for leaf in leaves) / len(leaves)]
