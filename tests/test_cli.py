"""The `paribus` command."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from paribus import cli, datasets


def test_the_help_names_the_commands() -> None:
    """Tests that the command without arguments explains itself."""
    result = CliRunner().invoke(cli.app, ["--help"])
    assert result.exit_code == 0
    assert "datasets" in result.output


def test_the_list_of_data_sets_in_a_pipe_is_plain() -> None:
    """Tests that a program gets one line per set, with tabs between the values."""
    result = CliRunner().invoke(cli.app, ["datasets"])
    lines = [line.split("\t") for line in result.output.splitlines()]
    assert lines[0] == ["name", "rows", "context", "behaviour", "anomalies", "what it is"]
    assert [line[0] for line in lines[1:]] == datasets.names()
    assert ["Abalone", "4177", "4", "5", "100"] in [line[:5] for line in lines]
    assert ["football", "532", "6", "2", ""] in [line[:5] for line in lines]


def test_the_list_of_data_sets_fits_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that a person gets a table no wider than the terminal, with names and numbers whole."""
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


def test_the_help_does_not_wait_for_the_library() -> None:
    """Tests that the command, and `import paribus`, load neither numpy nor scikit-learn before they are needed."""
    code = "import sys, paribus.cli; print(*{'numpy', 'sklearn', 'narwhals', 'paribus._core'} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == ""


def test_the_command_is_installed() -> None:
    """Tests that the shell finds `paribus` next to the Python that it was installed for."""
    command = os.path.join(os.path.dirname(sys.executable), "paribus")
    result = subprocess.run([command, "datasets"], capture_output=True, text=True, check=True)
    assert len(result.stdout.splitlines()) == 1 + len(datasets.names())


def test_public_names_are_found_when_needed() -> None:
    """Tests that the package offers its names although it imports them late, and no others."""
    import paribus

    assert {"QCAD", "gower_neighbors", "__version__"} <= set(dir(paribus))
    assert paribus.QCAD.__module__ == "paribus.detector"
    assert paribus.__version__.count(".") >= 2
    with pytest.raises(AttributeError, match="module 'paribus' has no attribute 'QCDA'"):
        _ = paribus.QCDA  # type: ignore[attr-defined]
