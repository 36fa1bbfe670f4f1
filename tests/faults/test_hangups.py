"""Terminals that are closed and pipes whose reader is gone: the old file or the new one, and no traceback."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import signal
import subprocess
import termios
from contextlib import suppress
from pathlib import Path

import pytest

from paribus import load
from tests.support.running import COMMAND, ROLES, fitted, write_table

HUNG_UP = 128 + signal.SIGHUP


def start(folder: Path, *arguments: object, ignored: bool = False) -> tuple[subprocess.Popen[bytes], int]:
    """Starts a command as the first one of a new terminal. Returns it, and the other end of the terminal."""
    ours, theirs = pty.openpty()

    def attach() -> None:
        os.setsid()
        fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)
        signal.signal(signal.SIGHUP, signal.SIG_IGN if ignored else signal.SIG_DFL)

    process = subprocess.Popen(
        [COMMAND, *map(str, arguments)],
        cwd=folder,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        preexec_fn=attach,
        env={**os.environ, "TERM": "xterm", "LANG": "C.UTF-8"},
    )
    os.close(theirs)
    return process, ours


def read_until(terminal: int, text: bytes) -> bytes:
    """What is shown on a terminal, up to a text."""
    shown = b""
    while text not in shown:
        shown += os.read(terminal, 65536)
    return shown


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table whose fit takes a while."""
    path = write_table(tmp_path_factory.mktemp("table") / "days.csv", 300)
    header, *lines = path.read_text().splitlines()
    path.write_text("\n".join([header, *lines * 10]) + "\n")
    return path


@pytest.mark.parametrize(("command", "option", "name"), [("detect", "--out", "o.csv"), ("fit", "--model", "m.paribus")])
def test_a_terminal_that_is_closed_during_a_fit(
    tmp_path: Path, table: Path, command: str, option: str, name: str
) -> None:
    """Tests that a command with a progress bar ends with the code of a hangup, and leaves the old file."""
    (tmp_path / name).write_bytes(b"old")
    process, terminal = start(tmp_path, command, table, *ROLES, option, name)
    read_until(terminal, b"/")  # the progress bar counts rows
    os.close(terminal)
    assert process.wait(60) == HUNG_UP
    assert os.listdir(tmp_path) == [name]
    assert (tmp_path / name).read_bytes() == b"old"


def test_a_command_that_ignores_hangups_finishes(tmp_path: Path, table: Path) -> None:
    """Tests that a fit that was started with nohup goes on without its progress bar."""
    process, terminal = start(tmp_path, "fit", table, *ROLES, "--model", "m.paribus", ignored=True)
    read_until(terminal, b"/")
    os.close(terminal)
    assert process.wait(60) == 0
    assert os.listdir(tmp_path) == ["m.paribus"]
    assert len(load(tmp_path / "m.paribus").anomaly_scores_) == 3_000


def test_a_terminal_that_is_closed_during_a_watch(tmp_path: Path, table: Path) -> None:
    """Tests that a watch keeps what it has, and goes on later."""
    fitted("surprise").save(tmp_path / "m.paribus")
    source, out = tmp_path / "rows.csv", tmp_path / "out.jsonl"
    lines = table.read_text().splitlines()[:301]
    source.write_text("\n".join(lines) + "\n")
    command = ["watch", "m.paribus", source, "--json", "--out", out, "--state", "state", "--follow"]
    process, terminal = start(tmp_path, *command)
    while not out.exists() or out.read_text().count("\n") < 300:
        assert process.poll() is None
        select.select([terminal], [], [], 0.05)
    os.close(terminal)
    assert process.wait(60) == 0
    assert sorted(os.listdir(tmp_path)) == ["m.paribus", "out.jsonl", "rows.csv", "state"]
    with source.open("a") as file:
        file.write(lines[1] + "\n")
    subprocess.run([COMMAND, *map(str, command[:-1])], cwd=tmp_path, check=True, capture_output=True)
    assert [json.loads(line)["number"] for line in out.read_text().splitlines()] == list(range(301))


def test_a_service_ends_with_its_terminal(tmp_path: Path) -> None:
    """Tests that the port is free again after a hangup."""
    fitted("surprise").save(tmp_path / "m.paribus")
    process, terminal = start(tmp_path, "serve", "m.paribus", "--port", "47319", "--token", "secret")
    read_until(terminal, b"Bearer")
    os.close(terminal)
    assert process.wait(60) == HUNG_UP


def test_a_watch_whose_reader_is_gone_ends_silently(tmp_path: Path) -> None:
    """Tests that a closed pipe ends a watch with the code of SIGPIPE, and leaves no draft."""
    fitted("surprise").save(tmp_path / "m.paribus")
    table = write_table(tmp_path / "days.csv", 300)
    read, write = os.pipe()
    with subprocess.Popen(
        [COMMAND, "watch", "m.paribus", "-", "--json", "--state", "state"],
        cwd=tmp_path, stdin=subprocess.PIPE, stdout=write, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        os.close(write)
        assert process.stdin is not None
        assert process.stderr is not None
        header, *lines = table.read_bytes().splitlines(keepends=True)
        process.stdin.write(header)
        process.stdin.write(lines[0])
        process.stdin.flush()
        assert json.loads(os.read(read, 65536))["number"] == 0
        os.close(read)
        # The watch may be gone before it has read everything.
        with suppress(BrokenPipeError):
            process.stdin.write(b"".join(lines[1:]))
            process.stdin.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 128 + signal.SIGPIPE
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]
