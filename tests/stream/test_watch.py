"""`paribus watch`: what is written, what is broken, and that nothing is lost or doubled by a crash."""

from __future__ import annotations

import json
import signal
import sqlite3
import stat
from pathlib import Path
from typing import Any

import pytest

from paribus import Monitor
from paribus.cli.signals import SIGNALS
from paribus.cli.watch import parse_window, run
from paribus.stream import watching
from paribus.stream.lines import LineParser
from paribus.stream.row_types import RowTypes
from paribus.stream.watching import Wanted, Watch
from tests.stream.streams import fitted, make_rows, one
from tests.support.running import invoke

OPTIONS: dict[str, Any] = {"window": 256}


@pytest.fixture
def lines() -> list[str]:
    rows = make_rows(20, 60)
    rows["x"][30] = 50.0
    return [json.dumps({"id": place, **one(rows, place)}) for place in range(60)]


def watch(wanted: Wanted, monitor: Monitor | None = None, notes: list[str] | None = None) -> Watch:
    found = Watch(
        monitor or Monitor(fitted(), fdr_period=50, **OPTIONS), wanted, ([] if notes is None else notes).append
    )
    found.run()
    return found


def read(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_each_row_has_a_verdict_and_broken_lines_are_reported(tmp_path: Path, lines: list[str]) -> None:
    """Tests that broken lines are counted and reported, and do not stop the rest."""
    source, out = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    notes: list[str] = []
    bad = ["{no json", json.dumps({"id": 7}), "", json.dumps({**json.loads(lines[0]), "x": "much"}), "[1]"]
    bad.append("[" * 100_000)
    source.write_text("\n".join([*lines[:10], *bad, *lines[10:]]) + "\n")
    found = watch(Wanted(str(source), out=out, as_json=True, key="id"), notes=notes)
    assert [each["key"] for each in read(out)] == list(range(60))
    assert [each["key"] for each in read(out) if each["odd"]] == [30]
    assert found.counts.n_broken == 5
    assert notes[0] == "a line cannot be used: it is not JSON"
    assert "column 'x' holds 'much', which is not a number" in notes[2]


def test_csv_and_text_give_the_same_as_json(tmp_path: Path, lines: list[str]) -> None:
    """Tests that CSV with a header has the verdicts of the same rows in JSON, and that text has the alarms only."""
    rows = [json.loads(line) for line in lines]
    table = tmp_path / "rows.csv"
    table.write_text("\n".join([";".join(rows[0]), *(";".join(map(str, row.values())) for row in rows)]))
    (tmp_path / "rows.jsonl").write_text("\n".join(lines))
    watch(Wanted(str(table), out=tmp_path / "csv", as_json=True))
    watch(Wanted(str(tmp_path / "rows.jsonl"), out=tmp_path / "json", as_json=True))
    assert read(tmp_path / "csv") == read(tmp_path / "json")
    watch(Wanted(str(table), out=tmp_path / "text", key="id"))
    assert (tmp_path / "text").read_text().startswith("30: Row 30 is odd, mostly in x")


class KilledError(Exception):
    pass


@pytest.mark.parametrize("killed_after", [1, 3])
def test_a_crash_neither_loses_nor_doubles_a_verdict(
    tmp_path: Path, lines: list[str], monkeypatch: pytest.MonkeyPatch, killed_after: int
) -> None:
    """Tests that a run that is killed after it wrote, and before its checkpoint, has the same output in the end."""
    source, out, state = tmp_path / "rows.jsonl", tmp_path / "out.jsonl", tmp_path / "watch.state"
    source.write_text("\n".join(lines) + "\n")
    monkeypatch.setattr(watching, "BATCH_SIZE", 12)
    monkeypatch.setattr(watching, "CHECKPOINT_ROWS", 24)
    watch(Wanted(str(source), out=tmp_path / "whole.jsonl", as_json=True))
    wanted = Wanted(str(source), out=out, state=state, as_json=True, key=None)
    written: list[int] = []
    judge = Watch._judge

    def dies(self: Watch, rows: list[Any]) -> None:
        judge(self, rows)
        written.append(len(rows))
        if len(written) == killed_after:
            raise KilledError

    monkeypatch.setattr(Watch, "_judge", dies)
    with pytest.raises(KilledError):
        watch(wanted)
    monkeypatch.setattr(Watch, "_judge", judge)
    monitor = Monitor.load(state) if state.exists() else None
    assert state.exists() == (killed_after > 1)
    watch(wanted, monitor)
    assert read(out) == read(tmp_path / "whole.jsonl")


def test_a_row_that_comes_again_is_not_judged_again(tmp_path: Path, lines: list[str]) -> None:
    """Tests that keys tell rows that were sent twice."""
    source = tmp_path / "rows.jsonl"
    source.write_text("\n".join([*lines[:20], *lines[10:30]]))
    found = watch(Wanted(str(source), out=tmp_path / "out", as_json=True, key="id"))
    assert [each["key"] for each in read(tmp_path / "out")] == list(range(30))
    assert found.counts.n_again == 10


def test_a_query_is_polled_from_the_last_key(tmp_path: Path, lines: list[str]) -> None:
    """Tests that a query gives each row once, and that a second run goes on where the first ended."""
    path, out, state = tmp_path / "rows.db", tmp_path / "out", tmp_path / "state"
    rows = [json.loads(line) for line in lines]
    with sqlite3.connect(path) as database:
        database.execute("create table rows (id integer, a real, b real, k text, x real, y real)")
        database.executemany("insert into rows values (:id, :a, :b, :k, :x, :y)", rows[:40])
    sql = "select * from rows where id > :last order by id limit 15"
    wanted = Wanted(f"sqlite:///{path}", sql, "id", out=out, state=state, as_json=True)
    watch(wanted)
    with sqlite3.connect(path) as database:
        database.executemany("insert into rows values (:id, :a, :b, :k, :x, :y)", rows[40:])
    watch(wanted, Monitor.load(state))
    assert [each["key"] for each in read(out)] == list(range(60))


def test_the_alert_command_gets_each_alarm_as_json(tmp_path: Path, lines: list[str]) -> None:
    """Tests that a program is run with the alarm on its input, and that one that fails is counted."""
    program = tmp_path / "alert"
    program.write_text(f"#!/bin/sh\ncat >> '{tmp_path}/alerts'\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    source = tmp_path / "rows.jsonl"
    source.write_text("\n".join(lines))
    watch(Wanted(str(source), out=tmp_path / "out", key="id", alert_command=str(program)))
    alarm = json.loads((tmp_path / "alerts").read_text())
    assert (alarm["kind"], alarm["key"], alarm["column"]) == ("row", 30, "x")
    program.write_text("#!/bin/sh\nexit 3\n")
    notes: list[str] = []
    found = watch(Wanted(str(source), out=tmp_path / "out", alert_command=str(program)), notes=notes)
    assert found.counts.n_failed_alerts == 1
    assert notes == ["the alert command failed: exit code 3"]


def test_the_alert_command_may_be_in_this_folder(
    tmp_path: Path, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that `--alert-command ./alert` is the program of that name in the current folder."""
    monkeypatch.chdir(tmp_path)
    program = Path("alert")
    program.write_text("#!/bin/sh\ncat > alarm\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    Path("rows.jsonl").write_text("\n".join(lines[25:35]))
    fitted().save("m.paribus")
    code, _, err = invoke("watch", "m.paribus", "rows.jsonl", "--out", "verdicts", "--alert-command", "./alert")
    assert code == 0, err
    assert json.loads(Path("alarm").read_text())["number"] == 5


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"source": "no such file"}, "there is no file 'no such file'"),
        ({"source": "sqlite:///x.db"}, "a database needs --sql"),
        ({"source": "-", "follow": True}, "--follow is for files and queries"),
        ({"source": "-", "alert_command": "rm -rf /tmp/x"}, "there is no program 'rm -rf /tmp/x' to run"),
    ],
)
def test_mistakes_are_explained_before_anything_is_read(tmp_path: Path, wanted: dict[str, Any], message: str) -> None:
    """Tests that invalid options are errors at once; a command with arguments is not run through a shell."""
    with pytest.raises((ValueError, OSError), match=message):
        run(tmp_path / "no.paribus", Wanted(**wanted), {})


@pytest.mark.parametrize("number", SIGNALS)
def test_a_watch_that_is_told_to_stop_keeps_what_it_has(
    tmp_path: Path, lines: list[str], monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Tests that Ctrl-C, SIGTERM and a closed terminal end a watch after a checkpoint, from which it goes on."""
    source, out, state = tmp_path / "rows.jsonl", tmp_path / "out.jsonl", tmp_path / "watch.state"
    source.write_text("\n".join(lines) + "\n")
    fitted().save(tmp_path / "m.paribus")
    wanted = Wanted(str(source), out=out, state=state, as_json=True)
    judge = Watch._judge

    def judge_and_signal(self: Watch, rows: list[Any]) -> None:
        judge(self, rows[:20])
        # A shell that ends with its terminal reports that more than once.
        for _ in range(2 if number == signal.SIGHUP else 1):
            signal.raise_signal(number)

    before = {each: signal.signal(each, signal.default_int_handler) for each in SIGNALS}
    try:
        with monkeypatch.context() as patch:
            patch.setattr(Watch, "_judge", judge_and_signal)
            run(tmp_path / "m.paribus", wanted, OPTIONS)
        assert len(read(out)) == 20
        assert state.exists()
        run(tmp_path / "m.paribus", wanted, OPTIONS)
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
    assert [each["number"] for each in read(out)] == list(range(len(read(out))))


@pytest.mark.parametrize("extra", [{"offset": 2**64}, {"written": -1}, {"delimiter": ""}, {"keys": [[]]}])
def test_a_place_that_makes_no_sense_is_refused(extra: dict[str, Any]) -> None:
    """Tests what a checkpoint says of how far its source was read."""
    monitor = Monitor(fitted(), **OPTIONS)
    monitor.extra_ = extra
    with pytest.raises(ValueError, match=f"^{next(iter(extra))} is invalid$"):
        Watch(monitor, Wanted("-"), print)


def test_windows_are_numbers_or_times() -> None:
    """Tests that a window that is neither is refused."""
    with pytest.raises(ValueError, match="--window is 'soon'"):
        parse_window("soon")


def test_lines_are_read_as_they_are_meant() -> None:
    """Tests that headers that repeat are no rows, and that a line with too few values is broken."""
    parser = LineParser()
    assert [parser.parse(line) for line in ("a,b", "1,2", "a,b")] == [None, {"a": "1", "b": "2"}, None]
    with pytest.raises(ValueError, match="it has 1 values where there are 2 columns"):
        parser.parse("1")
    with pytest.raises(ValueError, match=r"it is not CSV \("):
        parser.parse("1\r2,3")


def test_a_line_that_is_no_json_is_skipped_alone() -> None:
    """Tests that it is no header, neither before the first row nor after it: the rows behind it are read."""
    parser = LineParser()
    assert [parser.parse(line) for line in ("not json", '{"a": 1}')] == [None, {"a": 1}]
    for line in ("not json", "1,2", "null", '{"a": '):
        with pytest.raises(ValueError, match="it is not"):
            parser.parse(line)
    assert parser.parse('{"a": 2}') == {"a": 2}


def test_values_become_those_of_the_model() -> None:
    """Tests that text is read as numbers where the model has numbers, and what is missing is missing."""
    types = RowTypes(fitted())
    row = types.convert({"a": "0.5", "b": 1, "k": "u", "x": "NA", "y": None, "other": [1]})
    assert row == {"a": 0.5, "b": 1.0, "k": "u", "x": None, "y": None}
    with pytest.raises(ValueError, match="there is no column 'k'"):
        types.convert({"a": 1, "b": 1})
