"""Facts about a saved model, for `paribus show`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from paribus._common.text import listed, plain
from paribus.explain.coverage import measure_coverage

if TYPE_CHECKING:
    from paribus.detectors.base import ContextualDetector


def describe(path: Path, detector: ContextualDetector) -> dict[str, Any]:
    """What a model was fitted to, when, its roles, its calibration and its size."""
    view = detector.view()
    table = view.store.original
    origin = view.origin
    coverage = measure_coverage(view)
    roles = {column.name for column in view.context} | set(view.behavior_names)
    others = [table.name(place) for place in range(table.n_columns) if table.name(place) not in roles]
    return {
        "model": path.name,
        "method": type(detector).__name__,
        "fitted_to": origin.note or "a table without a name",
        "fitted_at": origin.fitted_at,
        "rows": table.n_rows,
        "rows_left_out": origin.n_excluded,
        "known_rows_and_rules": origin.n_known,
        "context": [plain(column.name) for column in view.context],
        "behavior": [plain(name) for name in view.behavior_names],
        "other_columns": [plain(name) for name in others],
        "threshold": view.threshold,
        "flagged": int((view.sorted_scores > view.threshold).sum()),
        "held_by_the_90_%_range": {name: round(share, 3) for name, share in coverage.items()},
        "seconds_to_fit": round(view.seconds, 1),
        "bytes": path.stat().st_size,
    }


def as_words(value: Any) -> str:
    """A fact as words."""
    if isinstance(value, dict):
        return (
            listed([f"{plain(name)} {100 * share:.1f} %" for name, share in value.items()], "and") if value else "none"
        )
    if isinstance(value, list):
        return ", ".join(value) if value else "none"
    return f"{value:,}" if isinstance(value, int) else str(value)
