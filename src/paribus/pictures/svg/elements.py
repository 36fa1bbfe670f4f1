"""The elements of SVG pictures, with scales and ticks. All escaping happens here."""

from __future__ import annotations

import bisect
import itertools
import math
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from markupsafe import Markup, escape

from paribus._common.arrays import Floats
from paribus._common.text import clipped, plain, shortened
from paribus.tables.column import Kind
from paribus.tables.column_format import ColumnFormat

# The widths of characters relative to the font size, in a wide font: most characters, capitals, broad ones such as "m",
# and East Asian ones.
LETTER, CAPITAL, BROAD, WIDE = 0.6, 0.76, 0.98, 1.0
# The font size of texts in pictures in pixels, as in the style sheet.
LETTER_SIZE = 12
# Characters of the text that a screen reader reads instead of a picture.
MAX_LABEL_LENGTH = 120
# Characters of a text in a picture: more than there is ever room for.
MAX_LETTERS = 500


def tag(name: str, *children: str, **attributes: str | float | None) -> Markup:
    """An SVG element. Text and attributes are escaped unless they are Markup; an attribute of None is left out.

    >>> print(tag("text", "a < b", x=1.25, class_="end", aria_label='"'))
    <text x="1.2" class="end" aria-label="&#34;">a &lt; b</text>
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(short(value) if isinstance(value, float) else value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    inside = "".join(escape(child) for child in children)
    return Markup(f"<{name}{written}>{inside}</{name}>" if inside else f"<{name}{written}/>")


def picture(width: int, height: int, label: str, *children: str, class_: str | None = None) -> Markup:
    """A whole picture, with the text that a screen reader reads instead."""
    return tag(
        "svg",
        *children,
        class_=class_,
        viewBox=f"0 0 {width} {height}",
        width=str(width),
        height=str(height),
        role="img",
        aria_label=clipped(label, MAX_LABEL_LENGTH),
    )


def text(x: float, y: float, words: str, class_: str | None = None) -> Markup:
    """A text element; the class determines its alignment."""
    return tag("text", words, x=float(x), y=float(y), class_=class_)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    """A straight line."""
    return path(f"M{pair(x1, y1)}L{pair(x2, y2)}", class_)


def path(way: str, class_: str) -> Markup:
    """A path; nothing if it is empty."""
    return tag("path", d=way, class_=class_) if way else Markup("")


def box(x: float, y: float, width: float, height: float) -> str:
    """The path data of a rectangle."""
    return f"M{pair(x, y)}h{short(width)}v{short(height)}h{short(-width)}z"


def polygon(xs: Floats, ys: Floats) -> str:
    """The path data of a polygon."""
    # Relative steps are shorter than absolute positions. They are in whole tenths so that rounding does not add up.
    points = [(round(10 * x), round(10 * y)) for x, y in zip(xs.tolist(), ys.tolist(), strict=True)]
    steps = [(c - a, d - b) for (a, b), (c, d) in itertools.pairwise(points)]
    return f"M{pair(*(place / 10 for place in points[0]))}l{' '.join(pair(x / 10, y / 10) for x, y in steps)}z"


def short(number: float) -> str:
    """A length in pixels, rounded to what is visible.

    >>> short(12.04), short(-0.01), short(0.55)
    ('12', '0', '0.6')
    """
    written = f"{number:.1f}".removesuffix(".0")
    return "0" if written == "-0" else written


def pair(x: float, y: float) -> str:
    """A pair of numbers in path data.

    >>> pair(1.5, -2), pair(0.25, 3)
    ('1.5-2', '.2 3')
    """
    first, second = (short(number).replace("0.", ".") if abs(number) < 1 else short(number) for number in (x, y))
    return first + second if second.startswith("-") else f"{first} {second}"


@dataclass(frozen=True)
class Scale:
    """Values from low to high, drawn from start to end."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """The position of a value; a value beyond an end is at that end."""
        if self.high <= self.low:
            return (self.start + self.end) / 2
        share = min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))
        return self.start + share * (self.end - self.start)


def ticks(low: float, high: float, max_ticks: int, *, whole: bool = False) -> list[float]:
    """Round values within a range: about `max_ticks` at most, and at least two where possible.

    >>> ticks(0, 97, 5)
    [0.0, 20.0, 40.0, 60.0, 80.0]
    >>> ticks(3, 4, 5, whole=True)
    [3.0, 4.0]
    """
    if not high > low or not math.isfinite(high - low):
        return [low] if math.isfinite(low) else []
    rough = (high - low) / max(1, max_ticks)
    power = 10.0 ** math.floor(math.log10(rough))
    steps = (1, 2, 5, 10) if whole else (1, 2, 2.5, 5, 10)
    step = next(step * power for step in steps if step * power >= rough * 0.999)
    step = max(1.0, step) if whole else step
    first = math.ceil(low / step - 1e-9)
    count = min(max_ticks + 1, math.floor(high / step + 1e-9) - first + 1)
    return [float(f"{(first + i) * step:.12g}") for i in range(count)]


def tick_texts(write: ColumnFormat, values: list[float], room: float) -> list[str]:
    """The labels of ticks: in full, or all shortened if one of them does not fit.

    >>> tick_texts(ColumnFormat(Kind.NUMERIC), [0.0, 500_000.0, 1_000_000.0], room=40)
    ['0', '500k', '1M']
    >>> tick_texts(ColumnFormat(Kind.NUMERIC, decimals=8), [0.0, 0.00015], room=40)
    ['0', '1.5e-4']
    """
    texts = [write.tick(value) for value in values]
    if write.kind is Kind.TIME or all(text_width(text, LETTER_SIZE) <= room for text in texts):
        return texts
    return [_shortened(value) for value in values]


def number_text(write: ColumnFormat, value: float, room: float) -> str:
    """A number in the format of its column, or shortened if that does not fit.

    >>> number_text(ColumnFormat(Kind.NUMERIC, decimals=2), -2832325765.16, room=100)
    '-2.832e9'
    """
    words = write(value)
    return words if text_width(words, LETTER_SIZE) <= room else _shortened(value)


def _shortened(value: float) -> str:
    if 1e3 <= abs(value) < 1e9:
        size, unit = (1e6, "M") if abs(value) >= 1e6 else (1e3, "k")
        return f"{value / size:.8g}{unit}"
    if value == 0 or 1e-3 <= abs(value) < 1e3:
        return f"{value:.4g}"
    mantissa, power = f"{value:.3e}".split("e")
    return f"{float(mantissa):g}e{int(power)}"


def text_width(words: str, size: float) -> float:
    """The approximate width of a text in pixels, independent of the actual font."""
    return size * sum(_letter_width(letter) for letter in words)


@lru_cache(maxsize=4096)
def _letter_width(letter: str) -> float:
    if unicodedata.combining(letter):
        return 0.0
    if unicodedata.east_asian_width(letter) in "WF":
        return WIDE
    if letter in "mwMW@%&—…<>=+~":
        return BROAD
    return CAPITAL if letter.isupper() else LETTER


def fitted(words: str, width: float, size: float) -> str:
    """A text on one line, shortened in the middle if it does not fit.

    >>> fitted("a very long category", 60, 12)
    'a ve…ry'
    """
    return _fitted(plain(words, MAX_LETTERS), width, size)


@lru_cache(maxsize=1024)
def _fitted(line: str, width: float, size: float) -> str:
    # Bisection works because a shorter text is never wider.
    n_letters = bisect.bisect_left(
        range(len(line), 1, -1), True, key=lambda n: text_width(shortened(line, n), size) <= width
    )
    return shortened(line, len(line) - n_letters)
