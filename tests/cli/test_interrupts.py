"""Commands that are interrupted, and streams and disks that end before they do."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.running import COMMAND, QUICK, QUICK_OPTIONS, ROLES, for_each_method, invoke, run


def start_long_run(days: Path, folder: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [COMMAND, "detect", str(days), *ROLES, "--n-trees", "9000", "--out", "s.csv"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    # Waits until the engine is loaded.
    maps = Path(f"/proc/{process.pid}/maps")
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline and "_core" not in maps.read_text():
        time.sleep(0.02)
    return process


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs /proc")
@pytest.mark.parametrize(
    ("number", "code", "message"),
    [(signal.SIGINT, 130, "paribus: interrupted\n"), (signal.SIGTERM, 143, ""), (signal.SIGHUP, 129, "")],
)
def test_an_interrupt_ends_the_command_with_one_line(
    days: Path, tmp_path: Path, number: int, code: int, message: str
) -> None:
    """Tests that Ctrl-C, SIGTERM and a closed terminal end a long run soon, and leave no file behind."""
    process = start_long_run(days, tmp_path)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (code, "", message)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("number", "module"), [("SIGINT", "typer"), ("SIGINT", "numpy"), ("SIGINT", "narwhals"), ("SIGHUP", "narwhals")]
)
def test_an_interrupt_while_code_is_loaded(days: Path, tmp_path: Path, module: str, number: str) -> None:
    """Tests that a signal during an import gives one line at most, and not an error of some library."""
    (tmp_path / f"{module}.py").write_text(
        f"""import os, signal
try:
    os.kill(os.getpid(), signal.{number})
except BaseException:
    raise ImportError"""
    )
    result = run("detect", days, *ROLES, cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert (result.returncode, result.stdout) == (128 + getattr(signal, number), "")
    assert result.stderr == ("paribus: interrupted\n" if number == "SIGINT" else "")


@for_each_method
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_draft_is_removed_however_the_write_is_stopped(
    method: str, days: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Tests that a signal during the write leaves the old file and nothing else, unless the signal is ignored."""
    (tmp_path / "s.csv").write_text("old")
    seen: list[list[str]] = []

    def stop(text: str) -> str:
        if not seen:
            seen.append(os.listdir(tmp_path))
            os.kill(os.getpid(), number)
        return text

    monkeypatch.setattr("paribus.io.writing.delimited.safe_text", stop)
    arguments = ["detect", days, *ROLES, *QUICK_OPTIONS[method], "--out", tmp_path / "s.csv"]
    assert invoke(*arguments)[0] == 128 + number
    assert len(seen[0]) == 2
    assert (tmp_path / "s.csv").read_text() == "old"
    assert os.listdir(tmp_path) == ["s.csv"]
    # Ignored, as with nohup.
    seen.clear()
    before = signal.signal(number, signal.SIG_IGN)
    try:
        assert invoke(*arguments)[0] == 0
    finally:
        signal.signal(number, before)
    assert (tmp_path / "s.csv").read_text() != "old"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that only Linux has")
def test_a_full_disk_behind_the_output_is_one_line() -> None:
    """Tests that a full disk behind standard output is reported in one line."""
    with open("/dev/full", "w") as full:
        result = subprocess.run([COMMAND, "datasets"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert (result.returncode, result.stderr) == (
        2,
        "paribus: cannot write to standard output: no space left on device\n",
    )


def test_a_closed_pipe_is_not_an_error(tmp_path: Path) -> None:
    """Tests that the command ends silently if the reader of its output is gone."""
    script = f"{COMMAND} datasets | true; exit ${{PIPESTATUS[0]}}"
    result = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert result.stderr == ""
    assert result.returncode in (0, 141)


@pytest.mark.parametrize(
    ("rest", "code", "message"),
    [
        ("detect DAYS ROLES --json >&- <&-", 2, "paribus: cannot write to standard output: it is closed"),
        ("datasets >&-", 2, "paribus: cannot write to standard output: it is closed"),
        ("detect --help >&-", 2, "paribus: cannot write to standard output: it is closed"),
        ("detect none.csv >&-", 2, "paribus: there is no file none.csv"),
        ("datasets --nonsense 2>&-", 2, ""),
        ("datasets --nonsense 2>/dev/full", 2, ""),
        ("datasets >&- 2>&-", 2, ""),
    ],
)
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that only Linux has")
def test_closed_streams(days: Path, tmp_path: Path, rest: str, code: int, message: str) -> None:
    """Tests that a closed output is an error if there is something to print, and that closed standard error is not."""
    words = rest.replace("DAYS", str(days)).replace("ROLES", " ".join(ROLES + QUICK))
    result = subprocess.run(["bash", "-c", f"{COMMAND} {words}"], cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == code, result.stderr
    assert result.stdout == ""
    assert (result.stderr.splitlines() or [""])[-1] == message
    assert "Traceback" not in result.stderr


def test_no_file_is_mistaken_for_a_closed_stream(days: Path, tmp_path: Path) -> None:
    """Tests that the file of scores is complete although its file number could be that of a closed stream."""
    arguments = f"{days} {' '.join(ROLES + QUICK)} --out s.csv"
    result = subprocess.run(["bash", "-c", f"{COMMAND} detect {arguments} <&- 2>&- >/dev/null"], cwd=tmp_path)
    assert result.returncode == 0
    assert len((tmp_path / "s.csv").read_text().splitlines()) == 301
