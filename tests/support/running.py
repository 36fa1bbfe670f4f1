"""Running the `paribus` command in tests, and a table for it."""

from __future__ import annotations

import contextlib
import csv
import io
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from paribus import QCAD, ConditionalSurprise, datasets
from paribus.cli import running

COMMAND = os.path.join(os.path.dirname(sys.executable), "paribus")
ROLES = ["--context", "month,elevation,zone", "--behavior", "temperature,rain,wind"]
QUICK_OPTIONS = {
    "qcad": ["--method", "qcad", "--n-trees", "5", "--n-neighbors", "50"],
    "surprise": ["--method", "surprise", "--n-trees", "5"],
}
"""By method: options with which a fit takes little time."""
QUICK = QUICK_OPTIONS["qcad"]

for_each_method = pytest.mark.parametrize("method", QUICK_OPTIONS)
"""Runs a test once for each method; the test's argument `method` is its name on the command line."""


def _inherited() -> dict[str, str]:
    """Variables of this process that commands need, too."""
    return {name: os.environ[name] for name in ("PATH", "HOME", "PYTHONPATH") if name in os.environ}


def run(
    *arguments: object, cwd: Path, stdin: bytes | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Runs the installed command."""
    result = subprocess.run(
        [COMMAND, *map(str, arguments)],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        timeout=120,
        env={"HOME": "/", "LANG": "C.UTF-8", **_inherited(), **environment},
    )
    return subprocess.CompletedProcess(result.args, result.returncode, result.stdout.decode(), result.stderr.decode())


def invoke(*arguments: object) -> tuple[int, str, str]:
    """Runs the command in this process, which is faster."""
    out, err = io.StringIO(), io.StringIO()
    return _invoke(arguments, out, err), out.getvalue(), err.getvalue()


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


def invoke_in_terminal(*arguments: object, columns: int) -> str:
    """Runs the command in this process as on a terminal, and returns what is shown there."""
    terminal = Terminal()
    environment = {"TERM": "xterm-256color", "COLUMNS": str(columns)}
    with mock.patch.dict(os.environ, environment):
        assert _invoke(arguments, terminal, terminal) == 0, terminal.getvalue()
    return terminal.getvalue()


def _invoke(arguments: tuple[object, ...], out: io.StringIO, err: io.StringIO) -> int:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        with (
            mock.patch.object(sys, "argv", ["paribus", *map(str, arguments)]),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            pytest.raises(SystemExit) as caught,
        ):
            running.main()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return int(caught.value.code or 0)


def write_table(path: Path, n: int = 300) -> Path:
    """Writes the first days of the weather table, with a column of names."""
    table = datasets.load("weather").table
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["station", *table])
        rows = list(zip(*table.values(), strict=True))[:n]
        writer.writerows([f"s{place}", *row] for place, row in enumerate(rows))
    return path


def fitted(method: str = "qcad") -> Any:
    """The detector that the command with `QUICK_OPTIONS` fits to the table of `write_table`."""
    columns = {name: values[:300] for name, values in datasets.load("weather").table.items()}
    roles = ["month", "elevation", "zone"], ["temperature", "rain", "wind"]
    if method == "qcad":
        return QCAD(*roles, n_trees=5, n_neighbors=50).fit(columns)
    return ConditionalSurprise(*roles, n_trees=5).fit(columns)


def in_terminal(*arguments: object, cwd: Path, **environment: str) -> str:
    """Runs the installed command on a terminal, and returns what is shown there."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [COMMAND, *map(str, arguments)],
        cwd=cwd,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={"TERM": "xterm-256color", "COLUMNS": "90", "LANG": "C.UTF-8", **_inherited(), **environment},
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(ours)
    assert process.wait() == 0, shown.decode()
    return shown.decode()
