"""`paribus watch`: checks what was typed, and runs the monitor."""

from __future__ import annotations

import os
import re
import shutil
import signal
from datetime import timedelta
from pathlib import Path
from typing import Any

from paribus._common.atomic_files import check_writable
from paribus._common.text import counted
from paribus.cli.messages import note
from paribus.cli.signals import SIGNALS
from paribus.cli.streams import forget_all, terminals
from paribus.detectors.load import load
from paribus.detectors.surprise import ConditionalSurprise
from paribus.stream.monitor import Monitor
from paribus.stream.watching import Wanted, Watch

UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def parse_window(text: str) -> int | timedelta:
    """A number of rows, or a time such as 7d.

    >>> parse_window("4096"), parse_window("12h")
    (4096, datetime.timedelta(seconds=43200))
    """
    found = re.fullmatch(r"(\d{1,9})([smhdw]?)", text.strip())
    if found is None:
        raise ValueError(f"--window is {text!r}: give a number of rows, or a time such as 30m, 12h or 7d")
    return timedelta(**{UNITS[found[2]]: int(found[1])}) if found[2] else int(found[1])


def run(model: Path, wanted: Wanted, options: dict[str, Any]) -> None:
    """Watches a source until it ends, or until the process is stopped."""
    _check(wanted)
    monitor = _monitor(model, wanted, options)
    watch = Watch(monitor, wanted, note)

    shown_on = terminals()

    def stop(number: int, _: Any) -> None:
        watch.is_stopped = True
        if number == signal.SIGHUP:
            # The terminal is closed, which a shell may report more than once.
            forget_all(shown_on)
        else:
            # A second signal ends it at once.
            signal.signal(number, signal.SIG_DFL)

    # A closed terminal is one of them, unless nohup asked to ignore it.
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, stop)
    watch.run()
    counts = watch.counts
    told = [f"{counted(monitor.n_rows_, 'row')} judged in total"]
    if counts.n_broken:
        told.append(counted(counts.n_broken, "invalid line"))
    if counts.n_again:
        told.append(counted(counts.n_again, "repeated row"))
    if counts.n_failed_alerts:
        told.append(counted(counts.n_failed_alerts, "failed alert command"))
    note("; ".join(told))


def _monitor(model: Path, wanted: Wanted, options: dict[str, Any]) -> Monitor:
    if wanted.state is not None and wanted.state.exists():
        monitor = Monitor.load(wanted.state)
        note(f"continuing after {monitor.n_rows_:,} rows, with the model and the options of {wanted.state.name}")
        return monitor
    detector = load(model)
    if not isinstance(detector, ConditionalSurprise):
        raise ValueError(f"{model.name} holds a {type(detector).__name__}: watch needs a ConditionalSurprise")
    monitor = Monitor(detector, **options)
    for name in monitor.unwatched_:
        note(f"{name} is not tested for changes: successive rows are too strongly correlated")
    return monitor


def _check(wanted: Wanted) -> None:
    """Raises an error for invalid options, before anything is read."""
    is_database = "://" in wanted.source
    if is_database and (wanted.sql is None or wanted.key is None):
        raise ValueError(
            "a database needs --sql, a query with :last, and --key, the column that :last is compared with"
        )
    if wanted.sql is not None and not is_database:
        raise ValueError("--sql needs the address of a database, as in sqlite:///readings.db")
    if not is_database and wanted.source != "-" and not Path(wanted.source).is_file():
        raise FileNotFoundError(f"there is no file '{wanted.source}'")
    if wanted.follow and wanted.source == "-":
        raise ValueError("--follow is for files and queries: a pipe is read until it is closed anyway")
    if wanted.every <= 0:
        raise ValueError(f"--every is {wanted.every:g}: it must be above 0 seconds")
    for path in (wanted.out, wanted.state):
        if path is not None:
            check_writable(path)
    if wanted.alert_command is not None:
        found = shutil.which(wanted.alert_command)
        if found is None:
            raise FileNotFoundError(
                f"there is no program '{wanted.alert_command}' to run: --alert-command takes one program, without "
                "arguments; put them into a script"
            )
        wanted.alert_command = os.path.abspath(found)
