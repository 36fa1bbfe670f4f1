"""Text for users: names on one line, lists, counts, scores and ratios."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import takewhile

MAX_TEXT_LENGTH = 60  # characters
# Invisible characters that are part of the spelling of Persian, Hindi and many emoji.
JOINERS = "\u200c\u200d"
# Combining marks on one letter: more than any language uses would run into other lines.
MAX_ACCENTS = 4
# Larger ratios are all written as "fewer than 1 in a million".
MAX_RATIO = 1e6


def plain(text: object, longest: int = MAX_TEXT_LENGTH) -> str:
    r"""A name or a category on one short line, without control characters or marks that change the writing direction.

    Long text loses its middle, because names that start alike often differ at the end.

    >>> plain("two\nlines")
    'two lines'
    >>> plain("delivery-service-north", longest=12)
    'deliver…orth'
    """
    return shortened(_one_line(_bounded(str(text), longest)), longest)


def clipped(text: object, longest: int) -> str:
    """Text on one line, cut off at the end if it is too long.

    >>> clipped("the sum is 3 or more", longest=12)
    'the sum is…'
    """
    line = _one_line(_bounded(str(text), longest))
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"


def ended(sentence: str) -> str:
    """A sentence with a period, unless it has one or was cut off.

    >>> ended("the sum is 3"), ended("the sum…")
    ('the sum is 3.', 'the sum…')
    """
    return sentence if sentence.endswith((".", "…")) else f"{sentence}."


def shortened(line: str, longest: int) -> str:
    """A line that loses its middle if it is too long.

    >>> shortened("abcdefghij", 6), shortened("abcdefghij", 10)
    ('abc…ij', 'abcdefghij')
    """
    if len(line) <= longest:
        return line
    n_last = (longest - 1) * 2 // 5
    last = line[len(line) - n_last :].lstrip()
    while last and unicodedata.category(last[0])[0] == "M":
        # A combining mark without its letter would attach to the ellipsis.
        last = last[1:]
    return f"{line[: longest - 1 - n_last].rstrip()}…{last}"


def distinct(lines: Sequence[str], shorten: Callable[[str], str]) -> list[str]:
    """Shortens lines so that different ones stay different: by the part in which they differ, or by a number.

    >>> distinct(["house in the north", "house in the far north", "hut"], lambda line: shortened(line, 9))
    ['…north', '…far…rth', 'hut']
    """
    short = {line: shorten(line) for line in lines}
    apart = []
    for line in lines:
        # Other lines that are shortened and start alike.
        start = short[line].partition("…")[0]
        alike = [other for other, each in short.items() if each != other and other.startswith(start)]
        if short[line] == line or len({short[other] for other in alike}) == len(alike):
            apart.append(short[line])
        else:
            same = takewhile(lambda letters: len(set(letters)) == 1, zip(*alike, strict=False))
            apart.append(shorten("…" + line[sum(1 for _ in same) :]))
    owners: dict[str, list[str]] = {}
    for line, own in zip(lines, apart, strict=True):
        others = owners.setdefault(own, [])
        if line not in others:
            others.append(line)
    numbers = [owners[own].index(line) + 1 for line, own in zip(lines, apart, strict=True)]
    return [own if number == 1 else f"{own} ({number})" for own, number in zip(apart, numbers, strict=True)]


def score_text(score: float, *, grouped: bool = True) -> str:
    """A score with one decimal, or in scientific notation if it is very small or very large.

    >>> score_text(46.17), score_text(1015.9), score_text(0.00123), score_text(4e9)
    ('46.2', '1,015.9', '0.0012', '4e+09')
    """
    if 0 < abs(score) < 0.05:
        return f"{score:.2g}"
    if abs(score) >= 1e6:
        return f"{score:.3g}"
    return f"{score:,.1f}" if grouped else f"{score:.1f}"


def expected_text(number: float) -> str:
    """An expected number of rows: whole from 10 on.

    >>> expected_text(7069.6), expected_text(2.66), expected_text(0.00123)
    ('7,070', '2.7', '0.0012')
    """
    return f"{number:,.0f}" if number >= 9.95 else score_text(number)


def counted(number: int, noun: str) -> str:
    """A count with its noun, in the singular or the plural.

    >>> counted(1, "row"), counted(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def none_above(threshold: float, lowest: float, highest: float, advice: str = "") -> str:
    """Why no row is flagged as an anomaly, and which setting would flag some.

    >>> none_above(66.7, 0.2, 58.7)
    'no score is above the threshold of 66.7; the highest is 58.7'
    >>> none_above(66.7, 0.2, 58.7, "contamination=0.01")
    'no score is above the threshold of 66.7; the highest is 58.7 (contamination=0.01 flags the highest 1 %)'
    >>> none_above(0.0, 0.0, 0.0)
    'all scores are 0.0, so no row stands out'
    """
    # If all fitted scores are equal, the threshold is that score. New rows are compared with the fitted threshold.
    if lowest == highest == threshold:
        return f"all scores are {score_text(highest)}, so no row stands out"
    more = f" ({advice} flags the highest 1 %)" if advice else ""
    return f"no score is above the threshold of {score_text(threshold)}; the highest is {score_text(highest)}{more}"


def _bounded(text: str, longest: int) -> str:
    """The start and the end of a huge text, many times longer than what is shown, so that it is quick to process."""
    most = 10 * longest
    return text if len(text) <= 2 * most else f"{text[:most]}…{text[-most:]}"


@lru_cache(maxsize=4096)
def _one_line(text: str) -> str:
    visible: list[str] = []
    n_marks = 0
    for character in text:
        category = unicodedata.category(character)[0]
        n_marks = n_marks + 1 if category == "M" else 0
        if n_marks > MAX_ACCENTS or (category == "C" and not character.isspace() and character not in JOINERS):
            continue
        visible.append(" " if character.isspace() else character)
    return " ".join("".join(visible).split())


def listed(words: list[str], conjunction: str) -> str:
    """A list of words as part of a sentence.

    >>> listed(["MF", "FW", "DF"], "or")
    'MF, FW or DF'
    """
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {conjunction} {words[-1]}"


def one_in(probability: float) -> str:
    """A small probability in words.

    >>> one_in(0.06), one_in(0.00026), one_in(1e-9)
    ('about 1 in 17', 'about 1 in 3,800', 'fewer than 1 in a million')
    """
    if probability < 1.0 / MAX_RATIO:
        return "fewer than 1 in a million"
    ratio = 1.0 / probability
    # Two significant digits are enough.
    return f"about 1 in {round(ratio, 1 - math.floor(math.log10(ratio))):,.0f}"
