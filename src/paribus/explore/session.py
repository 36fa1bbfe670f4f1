"""The state of the explorer: a table, roles, results and answers. All tabs of the browser share it."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from paribus.detectors.base import ContextualDetector
from paribus.detectors.context_advice import suggest_context
from paribus.detectors.load import load
from paribus.explain.known import KnownEntry, read_known
from paribus.explain.rules import parse_rule
from paribus.explore.analysis import Analysis
from paribus.explore.answers import AnswerBook
from paribus.explore.columns import BEHAVIOR, CONTEXT, ID, NONE, ROLES, TableColumns, advice_dict
from paribus.explore.folder import MODEL, REPORT, TABLE, Folder, kind_of
from paribus.explore.jobs import Job
from paribus.explore.listing import Filter, Listing
from paribus.explore.reported import Reported
from paribus.explore.result import Result, Taught
from paribus.explore.score_map import Axis, make_axis
from paribus.explore.take_away import Origin
from paribus.io.reading import ReadTable, Wanted, read
from paribus.methods.parameters import check_parameters
from paribus.methods.registry import REGISTRY, find_by_option
from paribus.tables.rows import unnamed
from paribus.tables.table import NamedRows

# The maximum number of results that are kept for comparison.
MAX_RESULTS = 4
PARAMETERS = {"method": "surprise", "n_trees": 64, "categorical": []}
"""The parameters that can be changed in the page, and their defaults."""
OF_SURPRISE = {"false_alarms": 0.001}
"""Those of the default method only."""


class Session:
    """The opened table, its analyses, and the user's decisions.

    Parameters
    ----------
    folder : Folder
        The folder from which files can be opened.
    known : Path, optional
        The file of answers. By default it is next to the table and has its name.
    n_jobs : int
        The number of threads; -1 for all cores.
    """

    def __init__(self, folder: Folder, known: Path | None = None, n_jobs: int = -1) -> None:
        self.folder = folder
        self._known, self._n_jobs = known, n_jobs
        self._lock = threading.RLock()
        self.version = 0
        self._job: Job | None = None
        self._message: str | None = None
        self._notes: list[str] = []
        self._forget()

    def _forget(self) -> None:
        self._path: Path | None = None
        self._columns: TableColumns | None = None
        self._summaries: list[dict[str, Any]] = []
        self._advice: dict[str, Any] | None = None
        self._roles: dict[str, str] = {}
        self._parameters: dict[str, Any] = {**PARAMETERS, **OF_SURPRISE}
        self._results: list[Result] = []
        self._current: int | None = None
        self._compared: int | None = None
        self._book: AnswerBook | None = None
        self._axes: dict[str, Axis] = {}
        self._taught: dict[int, Taught] = {}
        self._listings: dict[tuple[int, int | None, Filter], Listing] = {}

    def changed(self) -> None:
        """Notifies all tabs that the state has changed."""
        with self._lock:
            self.version += 1

    # --- what the page sees -----------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Everything but rows: small enough to be sent whenever something changes."""
        with self._lock:
            book = self._book
            if book is not None and book.refresh():
                self._answers_changed()
            current = self._find(None) if self._current is not None else None
            return {
                "version": self.version,
                "folder": self.folder.root.name or str(self.folder.root),
                "file": None if self._path is None else self._path.name,
                "kind": None if self._path is None else kind_of(self._path),
                "n_rows": self._n_rows,
                "columns": self._summaries,
                "advice": self._advice,
                "roles": self._roles,
                "parameters": self._parameters,
                "methods": [{"option": entry.option, "summary": entry.summary} for entry in REGISTRY],
                "notes": self._notes,
                "job": None if self._job is None else self._job.to_dict(),
                "message": self._message,
                "results": [self._result_line(each) for each in self._results],
                "result": None if current is None else current.to_dict(),
                "compared": self._compared,
                "answers": [] if book is None else [_entry_dict(entry) for entry in book.entries],
                "known_file": None if book is None else book.path.name,
                "can_undo": book is not None and book.can_undo,
                "teaching": None if current is None else self.taught(current.number).to_dict(),
            }

    @property
    def _n_rows(self) -> int | None:
        """The number of rows of the whole table, also where only some of them are here."""
        first = self._results[0] if self._results else None
        if isinstance(first, Reported):
            return first.held.n_rows
        return None if self._columns is None else self._columns.table.n_rows

    def progress(self) -> dict[str, Any] | None:
        """The work in progress, which changes more often than the state."""
        job = self._job
        return None if job is None else job.to_dict()

    def _result_line(self, result: Result) -> dict[str, Any]:
        line: dict[str, Any] = {
            "number": result.number,
            "context": [name for name, role in result.roles.items() if role == CONTEXT],
            "behavior": [name for name, role in result.roles.items() if role == BEHAVIOR],
            "n_above": int(result.is_above.sum()),
            "parameters": result.parameters,
        }
        current = self._current
        if current is not None and current != result.number:
            now, before = self._find(current).is_above, result.is_above
            line |= {"appeared": int((now & ~before).sum()), "went": int((before & ~now).sum())}
        return line

    # --- from a file to a result --------------------------------------------------------------------------------------

    def open(self, path: Path) -> None:
        """Opens a table, a model or a report."""

        def work(job: Job) -> None:
            kind = kind_of(path)
            if kind == MODEL:
                self._open_model(path)
            elif kind == REPORT:
                self._open_report(path)
            else:
                self._open_table(path, job)

        self._start(f"Reading {path.name}", work)

    def _open_table(self, path: Path, job: Job) -> None:
        notes: list[str] = []
        table = read(str(path), note=lambda text: notes.append(str(text)))
        job.say(f"Inspecting {len(table.columns)} columns")
        columns = TableColumns(dict(table.columns))
        summaries = []
        for place, name in enumerate(columns.names):
            job.progress(place, len(columns.names))
            summaries.append(columns.summary(name))
        book = self._open_book(path)
        with self._lock:
            self._forget()
            self._path, self._columns, self._summaries, self._book = path, columns, summaries, book
            self._roles = dict.fromkeys(columns.names, NONE)
            self._notes = notes
            self.changed()
        job.say("Measuring which columns are context")
        advice = suggest_context(table.columns)
        with self._lock:
            job.check()
            self._advice = advice_dict(advice)
            if all(role == NONE for role in self._roles.values()):
                self._roles = dict(self._advice["roles"])
            self.changed()

    def _open_model(self, path: Path) -> None:
        detector: ContextualDetector = load(path).set_params(n_jobs=self._n_jobs)
        view = detector.view()
        if not view.columns_have_names or not view.roles_by_name:
            raise ValueError(
                f"{path.name} was fitted to a table without column names: fit it to a table with column names"
            )
        original = view.store.original
        columns = TableColumns({original.name(p): np.asarray(original.values(p)) for p in range(original.n_columns)})
        book = self._open_book(path)
        roles = dict.fromkeys(columns.names, NONE)
        roles |= {column.name: CONTEXT for column in view.context}
        roles |= dict.fromkeys(view.behavior_columns, BEHAVIOR)
        with self._lock:
            self._forget()
            self._path, self._columns, self._book, self._roles = path, columns, book, roles
            self._summaries = [columns.summary(name) for name in columns.names]
        method = next(entry.option for entry in REGISTRY if entry.estimator_name == type(detector).__name__)
        analysis = Analysis(1, roles, {"method": method}, detector, detector.results(known=()), columns)
        self._add(analysis)
        analysis.find_groups()

    def _open_report(self, path: Path) -> None:
        result = Reported(1, path)
        book = self._open_book(path)
        with self._lock:
            self._forget()
            self._path, self._columns, self._book, self._roles = path, result.columns, book, result.roles
            self._summaries = [result.columns.summary(name) for name in result.columns.names]
            self._add(result)

    def _open_book(self, path: Path) -> AnswerBook:
        return AnswerBook(self._known or path.with_name(f"{path.name.split('.')[0]}.known.csv"))

    def set_roles(self, roles: Mapping[str, Any]) -> None:
        """Changes the roles of some columns."""
        with self._lock:
            columns = self._table()
            for name, role in roles.items():
                columns.table.find_column(name)
                if role not in ROLES:
                    raise ValueError(f"a role is one of {', '.join(ROLES)}")
                if role == ID:
                    # Only one column can name the rows.
                    self._roles = {each: NONE if now == ID else now for each, now in self._roles.items()}
                self._roles[name] = role
            self.changed()

    def set_parameters(self, parameters: Mapping[str, Any]) -> None:
        """Changes some parameters of the next fit."""
        with self._lock:
            wanted = {**self._parameters, **parameters}
            if unknown := wanted.keys() - PARAMETERS.keys() - OF_SURPRISE.keys():
                raise ValueError(f"there is no parameter {min(unknown)}")
            if wanted["method"] not in [entry.option for entry in REGISTRY]:
                raise ValueError(f"there is no method {wanted['method']!r}")
            if not isinstance(wanted["categorical"], list):
                raise ValueError("categorical must be a list of columns")
            for name in wanted["categorical"]:
                self._table().table.find_column(name)
            check_parameters({name: value for name, value in wanted.items() if name not in ("method", "categorical")})
            self._parameters = wanted
            self.changed()

    def fit(self) -> None:
        """Fits a detector with the current roles and parameters, in the background."""
        with self._lock:
            columns, roles, parameters = self._table(), dict(self._roles), self._own_parameters()
            path = self._path
            if path is not None and kind_of(path) != TABLE:
                raise ValueError(f"{path.name} is no table: open the table to choose columns")
        for role in (CONTEXT, BEHAVIOR):
            if role not in roles.values():
                raise ValueError(f"choose at least one column as {role}")

        def work(job: Job) -> None:
            self._fit(job, columns, roles, parameters, path)

        self._start("Fitting", work)

    def _own_parameters(self) -> dict[str, Any]:
        """The parameters of the chosen method that differ from its defaults."""
        is_default = self._parameters["method"] == PARAMETERS["method"]
        defaults = {**PARAMETERS, **OF_SURPRISE}
        if not is_default:
            defaults |= {"n_trees": 100}
        return {
            name: value
            for name, value in self._parameters.items()
            if (name == "method" or value != defaults[name]) and (is_default or name not in OF_SURPRISE)
        }

    def _fit(
        self, job: Job, columns: TableColumns, roles: dict[str, str], parameters: dict[str, Any], path: Path | None
    ) -> None:
        id_column = next((name for name, role in roles.items() if role == ID), None)
        labels = None if id_column is None else _labels(path, id_column, columns)
        chosen = {role: [name for name in columns.names if roles[name] == role] for role in (CONTEXT, BEHAVIOR)}
        make = find_by_option(parameters["method"]).estimator
        options = {name: value for name, value in parameters.items() if name != "method" and value != []}
        detector: ContextualDetector = make(
            chosen[CONTEXT], chosen[BEHAVIOR], n_jobs=self._n_jobs, progress=job.progress, **options
        )
        book = self._book
        entries = () if book is None else book.entries
        data = columns.columns if labels is None else NamedRows(columns.columns, labels)
        # The confirmed rows of another result have the same names.
        detector.fit(data, known=entries)
        detector.set_params(progress=False)
        job.say("Ranking")
        results = detector.results(known=(), labels=labels, heading="row" if id_column is None else "id")
        with self._lock:
            number = 1 + max((each.number for each in self._results), default=0)
            analysis = Analysis(number, roles, parameters, detector, results, columns, tuple(entries))
        analysis.prepare()
        with self._lock:
            self._compared = self._current
        self._add(analysis)
        job.say("Searching for groups")
        analysis.find_groups()

    def _add(self, result: Result) -> None:
        with self._lock:
            kept = [each for each in self._results if each.number != result.number]
            self._results = [*kept[-(MAX_RESULTS - 1) :], result]
            self._current = result.number
            self.changed()

    def show(self, number: int | None, compared: int | None) -> None:
        """Shows another result, and which one it is compared with."""
        with self._lock:
            if number is not None:
                self._current = self._find(number).number
            self._compared = None if compared is None else self._find(compared).number
            self.changed()

    def cancel(self) -> None:
        """Cancels the work in progress."""
        job = self._job
        if job is not None:
            job.cancel()
            self.changed()

    def _start(self, what: str, work: Any) -> None:
        with self._lock:
            if self._job is not None:
                raise ValueError("something is still being computed: cancel it, or wait until it is done")
            self._message = None
            self._job = Job(what, work, self._finished)
            self.changed()
            self._job.start()

    def _finished(self, job: Job, message: str | None) -> None:
        with self._lock:
            if self._job is job:
                self._job = None
            self._message = message
            self._listings.clear()
            self.changed()

    def dismiss(self) -> None:
        """Clears the error message."""
        with self._lock:
            self._message = None
            self.changed()

    def stop(self) -> None:
        """Ends the work in progress, if it ends soon."""
        job = self._job
        if job is not None:
            job.cancel()
            job.wait(2.0)

    # --- rows and answers ---------------------------------------------------------------------------------------------

    def taught(self, number: int | None = None) -> Taught:
        """A result with the current answers; the current result by default."""
        with self._lock:
            result = self._find(number)
            if result.number not in self._taught:
                entries = () if self._book is None else self._book.entries
                self._taught[result.number] = Taught.of(result, entries)
            return self._taught[result.number]

    def listing(self, fields: Mapping[str, Any]) -> Listing:
        """The rows that pass a filter."""
        with self._lock:
            taught = self.taught()
            other = None if self._compared is None else self.taught(self._compared)
            wanted = Filter.of(fields, taught.result)
            key = (taught.result.number, self._compared, wanted)
            if key not in self._listings:
                if len(self._listings) > 20:
                    self._listings.clear()
                self._listings[key] = Listing.of(taught, wanted, other)
            return self._listings[key]

    def answer(self, status: str, note: str, row: int | None, rule: str | None) -> dict[str, Any]:
        """Writes a decision about a row or a rule."""
        with self._lock:
            book = self._require_book()
            result = self._find(None)
            fields: dict[str, Any] = {"status": status, "note": note}
            if row is not None:
                fields["row"] = result.row_names[self.check_row(row)]
            else:
                fields["rule"] = rule or ""
            entry = read_known([fields])[0]
            if entry.rule is not None:
                self.count_rule(entry.rule.text)
            book.add(entry)
            self._answers_changed()
            return _entry_dict(entry)

    def take_back(self, place: int) -> None:
        """Removes one decision."""
        with self._lock:
            book = self._require_book()
            if not 0 <= place < len(book.entries):
                raise ValueError("there is no such answer")
            book.remove(book.entries[place])
            self._answers_changed()

    def undo(self) -> bool:
        """Undoes the last decision."""
        with self._lock:
            is_undone = self._require_book().undo()
            self._answers_changed()
            return is_undone

    def count_rule(self, text: str) -> dict[str, int]:
        """How many rows a rule matches, and how many of them are flagged. Raises an error if it is not a rule."""
        result = self._find(None)
        entry = KnownEntry(None, parse_rule(text), "known cause")
        is_known = result.mark([entry]).is_known
        return {"n": int(is_known.sum()), "n_flagged": int((is_known & result.is_above).sum())}

    def check_row(self, row: int) -> int:
        """The position of a row of the current result."""
        n_rows = self._find(None).n_rows
        if not 0 <= row < n_rows:
            raise ValueError(f"there is no row {row}: rows are numbered from 0 to {n_rows - 1}")
        return row

    def origin(self) -> Origin:
        """The origin of the current result."""
        assert self._path is not None
        return Origin(self._path.name, self._require_book().path, kind_of(self._path))

    @property
    def answers_file(self) -> Path | None:
        """The file of answers, if there are any."""
        return None if self._book is None or not self._book.entries else self._book.path

    def _answers_changed(self) -> None:
        self._taught.clear()
        self._listings.clear()
        self.changed()

    def _find(self, number: int | None) -> Result:
        wanted = self._current if number is None else number
        for each in self._results:
            if each.number == wanted:
                return each
        raise ValueError("there is no result yet" if number is None else f"there is no result {number}")

    def _table(self) -> TableColumns:
        if self._columns is None:
            raise ValueError("no table is open")
        return self._columns

    def axis(self, name: str) -> Axis:
        """A column as an axis of the map; cached, because it is slow for a million categories."""
        with self._lock:
            if name not in self._axes:
                self._axes[name] = make_axis(self._table(), name)
            return self._axes[name]

    def _require_book(self) -> AnswerBook:
        if self._book is None:
            raise ValueError("no table is open")
        return self._book


def _entry_dict(entry: KnownEntry) -> dict[str, Any]:
    rule = None if entry.rule is None else entry.rule.text
    return {"row": entry.row, "rule": rule, "status": entry.status, "note": entry.note}


def _labels(path: Path | None, name: str, columns: TableColumns) -> Any:
    """The names of the rows: as they are written in the file, so that 007 stays 007, as in the shell."""
    values: Sequence[Any] = columns.columns[name].tolist()
    if path is not None and columns.columns[name].dtype != object:
        texts: ReadTable = read(str(path), lambda names: Wanted([name], texts=frozenset([name])))
        values = texts.columns[name].tolist()
    labels = np.array([None if each is None else str(each) for each in values], dtype=object)
    names = {each for each in labels.tolist() if each is not None}
    for row in np.flatnonzero([label is None for label in labels.tolist()]).tolist():
        labels[row] = unnamed(row, names)
    return labels
