"""Disks that are full: one sentence that names the file, the old file, and nothing else."""

from __future__ import annotations

import json
import os
import pickle
import resource
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.support.running import ROLES, invoke, write_table

if not hasattr(os, "fork"):
    pytest.skip("needs fork", allow_module_level=True)

OLD = b"old"


def invoke_with_full_disk(*arguments: Any, size: int = 3_000) -> tuple[int, str, str]:
    """Runs a command in a process in which files cannot grow beyond a size."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
            os.write(write, pickle.dumps(invoke(*arguments)))
        finally:
            os._exit(0)
    os.close(write)
    with open(read, "rb") as pipe:
        found: tuple[int, str, str] = pickle.loads(pipe.read())
    os.waitpid(child, 0)
    return found


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_table(tmp_path_factory.mktemp("table") / "days.csv", 200)


def check(found: tuple[int, str, str], path: Path) -> None:
    code, _, err = found
    assert code == 2, err
    last = err.splitlines()[-1]
    assert last.startswith(f"paribus: cannot write '{path}': "), err
    assert "Traceback" not in err
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    assert path.read_bytes() == OLD


@pytest.mark.parametrize("name", ["o.csv", "o.tsv", "o.jsonl", "o.parquet", "o.xlsx", "r.html", "m.paribus"])
def test_a_full_disk_leaves_the_old_file(tmp_path: Path, table: Path, name: str) -> None:
    """Tests each kind of file that results go into."""
    path = tmp_path / name
    path.write_bytes(OLD)
    command = "fit" if name == "m.paribus" else "detect"
    option = {"m.paribus": "--model", "r.html": "--report"}.get(name, "--out")
    check(invoke_with_full_disk(command, table, *ROLES, "--n-trees", "2", option, path), path)


@pytest.mark.parametrize(("name", "size"), [("o.sqlite", 3_000), ("o.duckdb", 3_000), ("o.duckdb", 100_000)])
def test_a_full_disk_leaves_no_new_database(tmp_path: Path, table: Path, name: str, size: int) -> None:
    """Tests databases, which are changed in place if they exist. DuckDB's log may fit on the disk, but not its file."""
    arguments = ["detect", table, *ROLES, "--n-trees", "2", "--out", tmp_path / name]
    code, _, err = invoke_with_full_disk(*arguments, size=size)
    assert code == 2
    assert err.splitlines()[-1].startswith(f"paribus: cannot write '{name}': ")
    assert list(tmp_path.iterdir()) == []


def test_a_watch_with_a_full_disk_goes_on_later(tmp_path: Path, table: Path) -> None:
    """Tests that the output of a watch is named, and that it has each verdict once after a second run."""
    model, source = tmp_path / "m.paribus", tmp_path / "rows.jsonl"
    assert invoke("fit", table, *ROLES, "--n-trees", "2", "--model", model)[0] == 0
    header, *lines = table.read_text().splitlines()
    rows = [dict(zip(header.split(","), line.split(","), strict=True)) for line in lines]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    out, state = tmp_path / "out.jsonl", tmp_path / "w.state"
    command = ["watch", model, source, "--json", "--out", out, "--state", state]
    code, _, err = invoke_with_full_disk(*command)
    assert code == 2
    assert err.splitlines()[-1].startswith(f"paribus: cannot write '{out}': "), err
    assert invoke(*command)[0] == 0
    assert [json.loads(line)["number"] for line in out.read_text().splitlines()] == list(range(len(rows)))
    assert not [each for each in tmp_path.iterdir() if each.name.startswith(".")]
