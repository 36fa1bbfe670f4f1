"""Smoke tests of an installed paribus, without pytest or extras, for a clean environment (`make check-wheel`)."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import paribus
from paribus import QCAD, ConditionalSurprise, _core, datasets


def main() -> None:
    """Fits, scores, explains, saves and loads with both detectors, and runs the command on files."""
    weather = datasets.load("weather")
    table = {name: values[:300] for name, values in weather.table.items()}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for make in (ConditionalSurprise, QCAD):
            detector = make(weather.contextual, weather.behavioral, n_trees=5).fit(table)
            assert np.isfinite(detector.anomaly_scores_).all()
            assert detector.explain(137).to_dict()
            detector.save(place / "model.paribus")
            loaded = paribus.load(place / "model.paribus")
            assert (loaded.anomaly_score(table) == detector.anomaly_score(table)).all()
            detector.report(place / "report.html", n_rows=3)
            assert "</html>" in (place / "report.html").read_text(encoding="utf-8")
        rows = list(zip(*table.values(), strict=True))
        lines = [",".join(table), *(",".join(map(str, row)) for row in rows)]
        (place / "days.csv").write_text("\n".join(lines), encoding="utf-8")
        roles = ["-c", ",".join(weather.contextual), "-b", ",".join(weather.behavioral), "--n-trees", "5"]
        found = _command(place, "detect", "days.csv", *roles, "--json", "--out", "scores.parquet")
        assert json.loads(found)["rows"], found
        _command(place, "fit", "days.csv", *roles, "--model", "days.paribus")
        again = _command(place, "score", "days.paribus", "days.csv", "--top", "1")
        assert again.startswith("row"), again
        assert len(_command(place, "detect", "scores.parquet").splitlines()) > 3
    print(f"paribus {paribus.__version__} works on Python {sys.version.split()[0]}; kernels: {_core.kernels()}")


def _command(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "paribus", *arguments], cwd=folder, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


if __name__ == "__main__":
    main()
