"""The catalog of pictures, and matplotlib as an extra."""

from __future__ import annotations

import subprocess
import sys

import matplotlib.pyplot as plt
import pytest

import paribus.pictures.matplotlib
from paribus import datasets, suggest_context
from paribus.pictures.catalog import PICTURES, Picture
from tests.support.detectors import DetectorClass, for_both, quick


def test_without_matplotlib_the_extra_is_named() -> None:
    """Tests that explanations work without matplotlib, and that pictures raise an error that says what to install."""
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from paribus import QCAD\n"
        "explanation = QCAD(['x'], ['y'], n_trees=2).fit({'x': [1.0, 2.0, 3.0], 'y': [1.0, 2.0, 4.0]}).explain(0)\n"
        "print(len(str(explanation)) > 20)\n"
        "try:\n    explanation.plot()\nexcept ImportError as error:\n    print(error)\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines() == ["True", "pictures need matplotlib: pip install 'paribus[plot]'"]


@for_both
@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_each_entry_of_the_catalog_has_a_display(make: DetectorClass, picture: Picture) -> None:
    """Tests that each listed picture has a display class with the constructor for what it shows, which draws it."""
    display = getattr(paribus.pictures.matplotlib, picture.display)
    assert picture.display in paribus.pictures.matplotlib.__all__
    assert hasattr(display, "from_explanation") == (picture.about == "row")
    assert hasattr(display, "from_estimator") == (picture.about == "table")
    if picture.about == "stream":
        # Streams are drawn in tests/stream.
        assert hasattr(display, "from_monitor")
        return
    weather = datasets.load("weather")
    table = {name: column[:300] for name, column in weather.table.items()}
    detector = quick(make, weather.contextual, weather.behavioral).fit(table)
    if picture.about == "advice":
        drawn = suggest_context(table).plot()
    elif picture.about == "row":
        drawn = display.from_explanation(detector.explain(137))
    elif picture.name == "quantile-curves":
        drawn = display.from_estimator(detector, "rain", "zone")
    else:
        drawn = display.from_estimator(detector)
    assert drawn.figure_.axes
    plt.close(drawn.figure_)


def test_the_catalog_lists_every_display_once() -> None:
    """Tests that no display is missing from the list of pictures, and that names are unique."""
    assert sorted(picture.display for picture in PICTURES) == sorted(paribus.pictures.matplotlib.__all__)
    assert len({picture.name for picture in PICTURES}) == len(PICTURES)
