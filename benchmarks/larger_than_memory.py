"""Time and memory of `paribus detect` on a table that is larger than the memory it may use.

Generates a Parquet file with DuckDB, some rows at a time, scores it with `paribus detect --memory`, and prints how long
that took and how much memory the process held at most. `--write` writes the table of docs/methods/performance.md.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from paper.markdown import rewrite_part

HERE = Path(__file__).parent
RESULTS = HERE / "larger_than_memory.json"
PAGE = HERE.parent / "docs" / "methods" / "performance.md"
N_CONTEXTUAL = N_BEHAVIORAL = 5
CONTEXT = [f"c{place}" for place in range(N_CONTEXTUAL)]
BEHAVIOR = [f"b{place}" for place in range(N_BEHAVIORAL)]
N_PARTS = 40


def make_part(n_rows: int, seed: int) -> dict[str, Any]:
    """Rows with five contextual columns, and five behavioral ones that depend on them nonlinearly."""
    random = np.random.default_rng(seed)
    context = random.normal(size=(n_rows, N_CONTEXTUAL))
    slopes = np.random.default_rng(1).normal(size=(N_CONTEXTUAL, N_BEHAVIORAL))
    behavior = np.sin(context @ slopes) + 0.1 * random.normal(size=(n_rows, N_BEHAVIORAL))
    return dict(zip(CONTEXT, context.T.copy(), strict=True)) | dict(zip(BEHAVIOR, behavior.T.copy(), strict=True))


def make_folder(folder: Path, n_rows: int) -> None:
    """Writes the table as a folder of Parquet files."""
    for part in range(N_PARTS):
        with duckdb.connect() as connection:
            connection.register("rows", make_part(n_rows // N_PARTS, part))
            connection.table("rows").write_parquet(str(folder / f"part-{part:02d}.parquet"))


def run(folder: Path, out: Path, memory: str) -> dict[str, Any]:
    """Runs the command, and watches its memory."""
    command = [str(Path(sys.executable).with_name("paribus")), "detect", str(folder), "--memory", memory]
    command += ["--context", ",".join(CONTEXT), "--behavior", ",".join(BEHAVIOR), "--out", str(out), "--top", "3"]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    peak = [0]

    def watch() -> None:
        while process.poll() is None:
            # Pages of files that are merely mapped can be dropped at any time: they are not counted.
            try:
                text = Path(f"/proc/{process.pid}/status").read_text()
            except OSError:
                break
            held = sum(int(each) for each in re.findall(r"Rss(?:Anon|Shmem):\s+(\d+) kB", text))
            peak[0] = max(peak[0], held * 1024)
            time.sleep(0.05)

    watcher = threading.Thread(target=watch)
    watcher.start()
    output, _ = process.communicate()
    watcher.join()
    busy = os.times()
    if process.returncode:
        raise SystemExit(output)
    return {
        "seconds": round(time.perf_counter() - start, 1),
        "processor_seconds": round(busy.children_user + busy.children_system, 1),
        "peak_bytes": peak[0],
        "output": output,
    }


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n-rows", type=int, default=20_000_000)
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--folder", type=Path, help="where the table goes, and stays; default: a temporary folder")
    parser.add_argument("--write", action="store_true", help="write the results to the documentation")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.folder or Path(temporary)) / f"{options.n_rows}-rows"
        if not folder.exists():
            folder.mkdir(parents=True)
            make_folder(folder, options.n_rows)
        out = folder.with_name("scores.parquet")
        size = sum(path.stat().st_size for path in folder.iterdir())
        found = {"rows": options.n_rows, "memory": options.memory, "file_bytes": size} | run(
            folder, out, options.memory
        )
        found["scores_bytes"] = out.stat().st_size
        with duckdb.connect() as connection:
            found["scored"] = connection.from_parquet(str(out)).count("score").fetchall()[0][0]
    print(found.pop("output"))
    print(json.dumps(found, indent=1))
    if options.write:
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")
        rewrite_part(PAGE, "larger-than-memory", table_of(found))


def table_of(found: dict[str, Any]) -> list[str]:
    """The results as a table of the documentation."""
    gigabytes = 10**9
    return [
        "| rows x columns | Parquet | `--memory` | time | processor time | peak memory | scores in Parquet |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        f"| {found['rows']:,} x {N_CONTEXTUAL + N_BEHAVIORAL} | {found['file_bytes'] / gigabytes:.2f} GB "
        f"| {found['memory']} | {found['seconds'] / 60:.0f} min | {found['processor_seconds'] / 60:.0f} min "
        f"| {found['peak_bytes'] / gigabytes:.2f} GB | {found['scores_bytes'] / gigabytes:.2f} GB |",
    ]


if __name__ == "__main__":
    main()
