"""The help, the lists that commands print, and what is imported for them."""

from __future__ import annotations

import inspect
import resource
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

from paribus import QCAD, ConditionalSurprise, datasets
from paribus.cli import app as cli
from paribus.cli import options
from paribus.datasets.catalog import read_columns
from tests.support.running import (
    COMMAND,
    invoke,
    run,
)


def cpu_seconds(command: list[str], n_runs: int = 2) -> float:
    """The processor time of a command, which unlike the time on the clock does not depend on other processes."""
    found = []
    for _ in range(n_runs):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(found)


def test_help_is_quick() -> None:
    """Tests that the help takes little longer than loading typer, far below 0.3 s, and that it loads nothing heavy."""
    bare = cpu_seconds([sys.executable, "-c", "import typer, typer.core, typer.main"])
    assert cpu_seconds([COMMAND, "--help"]) < 2 * bare + 0.05
    code = """
import sys
from paribus.__main__ import main
sys.argv = ["paribus", "--help"]
try:
    main()
except SystemExit:
    print(*{"numpy", "sklearn", "scipy", "narwhals", "duckdb", "joblib", "rich", "jinja2"} & set(sys.modules))
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "Usage: " in result.stdout
    assert result.stdout.splitlines()[-1] == ""


def test_help_names_the_commands(tmp_path: Path) -> None:
    """Tests that the help lists all commands, that it is shown if no command is typed, and that it has no markup."""
    result = run("--help", cwd=tmp_path)
    for command in ("detect", "explain", "fit", "score", "demo", "datasets", "bench"):
        assert command in result.stdout
    assert "\\b" not in result.stdout
    assert invoke() == (0, result.stdout, "")


def test_every_option_is_explained() -> None:
    """Tests that each option of each command has a help text, and each parameter of the detectors an option."""
    for command in typer.main.get_command(cli.app).commands.values():  # type: ignore[attr-defined]
        assert command.help
        for parameter in command.params:
            assert parameter.help, f"{command.name} {parameter.name}"
    detectors = {**inspect.signature(QCAD).parameters, **inspect.signature(ConditionalSurprise).parameters}
    # --missing names the spelling of missing values in files.
    ours = {"missing" if name == "judge_missing" else name for name in inspect.signature(options.parameters).parameters}
    assert ours - {"method"} == set(detectors) - {"contextual", "behavioral", "categorical", "progress"}
    assert options.parameters() == {"method": "surprise", "n_jobs": -1}


def test_defaults_in_the_help_are_those_of_the_detectors() -> None:
    """Tests that the defaults in the help texts are the defaults of the detectors."""
    command = typer.main.get_command(cli.app).commands["detect"]  # type: ignore[attr-defined]
    help_of = {parameter.name: parameter.help for parameter in command.params}
    for name in ("n_trees", "max_features", "false_alarms", "min_samples_leaf", "max_samples"):
        default = inspect.signature(ConditionalSurprise).parameters[name].default
        assert f"[default: {default:g};" in help_of[name]
    for name, words in (("n_trees", "qcad: "), ("clip", "[qcad only; default: ")):
        default = inspect.signature(QCAD).parameters[name].default
        assert f"{words}{default:g}]" in help_of[name]


def test_the_list_of_data_sets_in_a_pipe_is_plain(tmp_path: Path) -> None:
    """Tests that a pipe gets one line per data set, with tabs between the values."""
    lines = [line.split("\t") for line in run("datasets", cwd=tmp_path).stdout.splitlines()]
    assert lines[0] == ["name", "rows", "context", "behavior", "anomalies", "description"]
    assert [line[0] for line in lines[1:]] == datasets.names()
    assert ["Abalone", "4177", "4", "5", "100"] in [line[:5] for line in lines]
    assert ["football", "532", "6", "2", ""] in [line[:5] for line in lines]


def test_the_list_of_data_sets_fits_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that the table on a terminal is not too wide, and that names and numbers are not cut off."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")
    cli.datasets()
    lines = capsys.readouterr().out.splitlines()
    assert max(len(line) for line in lines) <= 80
    assert "\t" not in "".join(lines)
    words = {word for line in lines for word in line.split()}
    assert set(datasets.names()) <= words
    assert "19000" in words


def test_public_names_are_found_when_needed() -> None:
    """Tests that the package has its public names, although it imports them lazily, and no others."""
    import paribus

    assert {"QCAD", "ConditionalSurprise", "gower_neighbors", "load", "__version__"} <= set(dir(paribus))
    assert paribus.QCAD.__module__ == "paribus.detectors.qcad"
    assert paribus.__version__.count(".") >= 2
    with pytest.raises(AttributeError, match="module 'paribus' has no attribute 'QCDA'"):
        _ = paribus.QCDA  # type: ignore[attr-defined]


def test_a_data_set_can_be_saved_to_be_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the file has the columns of the data set, and that its roles are printed."""
    monkeypatch.chdir(tmp_path)
    code, out, _ = invoke("datasets", "weather", "--out", "days.csv")
    assert code == 0
    assert "context: month, elevation and zone; behavior: temperature, rain and wind" in out
    weather = datasets.load("weather").table
    saved = read_columns((tmp_path / "days.csv").read_text().splitlines())
    assert {name: list(column) for name, column in saved.items()} == {name: list(weather[name]) for name in weather}


def test_percentages_are_shares() -> None:
    """Tests options that take a share, written as a percentage."""
    given = options.parameters(contamination="3%", false_alarms="0.5 %")
    assert (given["contamination"], given["false_alarms"]) == (0.03, 0.005)
