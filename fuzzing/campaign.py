"""Runs a fuzz campaign: python -m fuzzing.campaign --inputs 20000.

Each area runs in a process of its own, so that a crash is found and the others go on. An input fails if the process
dies, if it takes more than ten seconds or 200 MB, if an error is not one sentence, or if the answer is not that of the
oracle. Failing inputs are kept in build/fuzz. `--write` adds the counts to results.json, `--seconds` bounds each area.
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import os
import resource
import signal
import sys
import time
import traceback
import warnings
from pathlib import Path
from random import Random
from typing import Any

from fuzzing.area import Area, WrongAnswerError
from fuzzing.areas import AREAS
from fuzzing.mutation import mutated
from fuzzing.record import RANDOM, SANITIZED, add_counts

IS_SANITIZED = "asan" in os.environ.get("LD_PRELOAD", "")
FOUND = Path(__file__).parents[1] / "build" / "fuzz"
# Of processor time, in seconds, and of memory that one input adds to the most that was used before, in bytes.
MAX_SECONDS = 10.0
MAX_MEMORY = 200 * 2**20
# Of addresses, beyond those that are there before the first input: what stops an input before the machine stops.
MAX_ADDRESSES = 2 * 2**30
MAX_KEPT = 5


class TooSlowError(Exception):
    """Raised if an input takes too long."""


class TooLargeError(Exception):
    """Raised if an input takes too much memory."""


def _too_slow(*_: Any) -> None:
    raise TooSlowError(f"more than {MAX_SECONDS:.0f} s")


def _most_memory() -> int:
    """The most memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def run(area: Area, n_inputs: int, seconds: float, seed: int, last: Path, counts: Any) -> None:
    """Tries inputs of one area. `last` always holds the current one, for the case of a crash."""
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGPROF, _too_slow)
    seeds, random = area.seeds(), Random(f"{area.name} {seed}")
    # What is imported and remembered for the first input does not count. If all are refused, the area is wrong.
    if not sum(area.check(data) for data in seeds):
        raise WrongAnswerError(f"no seed of the area {area.name} is accepted")
    used = (
        int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() if sys.platform == "linux" else 0
    )
    # The sanitizer reserves addresses for all of memory, and keeps what is freed for a while.
    if used and not IS_SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (used + MAX_ADDRESSES, resource.RLIM_INFINITY))
    kept: dict[str, int] = {}
    handle = os.open(last, os.O_RDWR | os.O_CREAT)
    end, most = time.monotonic() + seconds, _most_memory()
    for _ in range(n_inputs):
        if time.monotonic() > end:
            counts[3] = 1
            break
        data = mutated(random, seeds, area.tokens)
        os.pwrite(handle, len(data).to_bytes(8, "little") + data, 0)
        signal.setitimer(signal.ITIMER_PROF, MAX_SECONDS)
        try:
            accepted = area.check(data)
            most, before = max(most, _most_memory()), most
            if most - before > MAX_MEMORY and not IS_SANITIZED:
                raise TooLargeError(f"{most - before:,} bytes")
        except BaseException as error:
            signal.setitimer(signal.ITIMER_PROF, 0)
            if isinstance(error, KeyboardInterrupt):
                raise
            counts[2] += 1
            where = traceback.extract_tb(error.__traceback__)[-1]
            kind = f"{type(error).__name__} in {Path(where.filename).name}:{where.lineno}: {str(error)[:200]}"
            key = kind.split(": ")[0]
            kept[key] = kept.get(key, 0) + 1
            if kept[key] <= MAX_KEPT:
                _keep(area, data, kind, "".join(traceback.format_exception(error)))
            continue
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        counts[0] += 1
        counts[1] += accepted


def _keep(area: Area, data: bytes, kind: str, text: str) -> None:
    FOUND.mkdir(parents=True, exist_ok=True)
    path = FOUND / f"{area.name.replace(' ', '-')}-{hashlib.sha256(data).hexdigest()[:12]}"
    path.write_bytes(data)
    path.with_suffix(".txt").write_text(text, encoding="utf-8", errors="replace")
    print(f"  {area.name}: {kind}; the input is {path}", flush=True)


def campaign(areas: list[Area], n_inputs: int, seconds: float, seed: int, write: bool) -> dict[str, dict[str, Any]]:
    """Runs all areas, one after the other, and restarts an area after a crash."""
    total = sum(area.share for area in areas)
    results: dict[str, dict[str, Any]] = {}
    context = multiprocessing.get_context("spawn")
    FOUND.mkdir(parents=True, exist_ok=True)
    for area in areas:
        left, attempt = max(1, round(n_inputs * area.share / total)), 0
        # Right answers, accepted ones among them, wrong ones, and whether the time is over.
        counts, n_crashes = context.Array("q", 4), 0
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        while (todo := left - counts[0] - counts[2] - n_crashes) > 0 and n_crashes < MAX_KEPT and not counts[3]:
            last = FOUND / f"last-{area.name.replace(' ', '-')}"
            last.write_bytes(bytes(8))
            child = context.Process(target=_run_named, args=(area.name, todo, seconds, seed + attempt, last, counts))
            child.start()
            child.join()
            attempt += 1
            if child.exitcode:
                n_crashes += 1
                data = last.read_bytes()
                data = data[8 : 8 + int.from_bytes(data[:8], "little")]
                _keep(area, data, f"the process ended with {child.exitcode}", "")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        results[area.name] = {
            "inputs": counts[0] + counts[2] + n_crashes,
            "accepted": counts[1],
            "failed": counts[2] + n_crashes,
            "seconds": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1),
        }
        each = results[area.name]
        print(
            f"{area.name}: {each['inputs']:,} inputs, {each['accepted']:,} accepted, {each['failed']:,} failed; "
            f"{each['seconds']:.0f} s of processor time, {time.monotonic() - start:.0f} s",
            flush=True,
        )
        if write:
            add_counts(SANITIZED if IS_SANITIZED else RANDOM, area.name, each)
    return results


def _run_named(name: str, *arguments: Any) -> None:
    run(next(area for area in AREAS if area.name == name), *arguments)


def main() -> int:
    """Runs the campaign that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=20_000, help="how many inputs, over all areas")
    parser.add_argument("--seconds", type=float, default=1e9, help="the most time for each area")
    parser.add_argument("--area", action="append", choices=[area.name for area in AREAS], help="only these areas")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true", help="add the counts to results.json")
    given = parser.parse_args()
    areas = [area for area in AREAS if given.area is None or area.name in given.area]
    results = campaign(areas, given.inputs, given.seconds, given.seed, given.write)
    n_failed = sum(each["failed"] for each in results.values())
    print(f"{sum(each['inputs'] for each in results.values()):,} inputs, {n_failed:,} failed")
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
