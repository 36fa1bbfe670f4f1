"""The weather of a fictional mountain country, with a few days that are unusual in their context."""

from __future__ import annotations

import numpy as np

N_DAYS = 2000

# Days with the weather of another time or place: each value is ordinary in the table, but unusual in its context.
PLANTED: list[tuple[int, tuple[str, float, str], dict[str, float]]] = [
    (137, ("January", 1900.0, "inland"), {"temperature": 16.5, "rain": 0.6, "wind": 7.5}),
    (512, ("July", 60.0, "coast"), {"temperature": -2.5, "rain": 14.0, "wind": 20.5}),
    (860, ("August", 150.0, "inland"), {"temperature": 4.0, "rain": 13.0, "wind": 17.0}),
    (1204, ("December", 2300.0, "inland"), {"temperature": 9.0, "rain": 0.4, "wind": 6.0}),
    (1777, ("February", 1500.0, "inland"), {"temperature": 12.0, "rain": 0.8, "wind": 5.5}),
]
MONTHS = [
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
]  # fmt: skip


def generate() -> dict[str, list[str | float]]:
    """2,000 days at stations between the sea and the peaks; always the same table."""
    random = np.random.RandomState(7)
    month = random.randint(12, size=N_DAYS)
    elevation = np.round(random.gamma(1.6, 450.0, size=N_DAYS).clip(0, 2800))
    coast = (random.uniform(size=N_DAYS) < 0.35) & (elevation < 400)
    for row, (name, height, zone), _ in PLANTED:
        month[row], elevation[row], coast[row] = MONTHS.index(name), height, zone == "coast"

    summer = np.sin((month - 3) / 12 * 2 * np.pi)
    temperature = 11 + summer * np.where(coast, 7, 11) - elevation * 0.0062 + random.normal(0, 1.8, N_DAYS)
    rain = random.gamma(2.0, 1.0 + 1.2 * (1 - summer) + elevation / 900, N_DAYS)
    wind = 4 + 4 * coast + elevation / 160 + random.gamma(3.0, 1.0, N_DAYS)
    table: dict[str, list[str | float]] = {
        "month": [MONTHS[m] for m in month],
        "elevation": elevation.tolist(),
        "zone": ["coast" if near else "inland" for near in coast],
        "temperature": temperature.round(1).tolist(),
        "rain": rain.round(1).tolist(),
        "wind": wind.round(1).tolist(),
    }
    for row, _, behavior in PLANTED:
        for column, value in behavior.items():
            table[column][row] = value
    return table
