"""Names and values that try to run code, to change the writing direction, or to break the page."""

from __future__ import annotations

from typing import Any

import numpy as np

NAMES = [
    "</script><script>window.broken = 1</script>",
    '" onload="window.broken = 2" x="',
    "'><img src=x onerror='window.broken = 3'>",
    "<svg><script>window.broken = 4</script></svg>",
    "]]><script>window.broken = 5</script><!--",
    "\u202egnirts eht denrut\u202c\u2066",
    "null\x00bell\x07\x1b[31m\ud800",
    "N" * 10_000,
    "שלום עולם مرحبا",
    "数据列的名称很长很长很长很长很长很长很长很长很长很长",
    "e" + "\u0301" * 40,
    "{{ 7 * 7 }}{% raw %}",
    "javascript:window.broken=6",
    "&lt;script&gt;&amp;",
    "line\u2028separator\nand\rmore\ttabs",
]


# The name of the column of row names.
LABEL = "<b onclick='window.broken = 8'>label</b>"


def hostile_table(n: int = 200, seed: int = 0) -> dict[str, Any]:
    """A table with three behavioral columns; the other names are context, and all names occur as values and labels."""
    random = np.random.default_rng(seed)
    table: dict[str, Any] = {name: random.normal(size=n) for name in NAMES[:3]}
    for place, name in enumerate(NAMES[3:]):
        table[name] = random.normal(size=n) if place % 3 == 0 else random.choice(np.array([*NAMES, None]), n)
    table[NAMES[0]][::9] = np.nan
    table[LABEL] = np.array([f"{NAMES[i % len(NAMES)][:60]} {i}" for i in range(n)], dtype=object)
    return table
