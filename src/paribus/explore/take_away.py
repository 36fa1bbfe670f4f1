"""Downloads: the list, the report, the model, and a script and a command that repeat the work."""

from __future__ import annotations

import pprint
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

from paribus.explain.known import CONFIRMED, KnownEntry
from paribus.explore.analysis import Analysis
from paribus.explore.columns import BEHAVIOR, CONTEXT, ID
from paribus.explore.folder import MODEL, TABLE
from paribus.explore.reported import Reported
from paribus.explore.result import Taught
from paribus.io.writing import write_columns
from paribus.output.report.names import RowNames
from paribus.output.results import Results

N_REPORTED = 50
REFITS = (
    "The command learns nothing from the rows that were confirmed since the fit, so its scores differ a little; "
    "to see them here, find unusual rows again."
)


@dataclass(frozen=True)
class Made:
    """A file to download."""

    name: str
    kind: str
    """Its media type."""
    content: bytes


@dataclass(frozen=True)
class Origin:
    """The origin of a result."""

    table: str
    """The name of the file that was opened."""
    known: Path
    """The file of answers."""
    kind: str = TABLE
    """What kind of file it is."""

    @property
    def stem(self) -> str:
        """The name of the file without its endings."""
        return self.table.split(".")[0] or "table"


def make(what: str, taught: Taught, origin: Origin) -> Made:
    """Makes one of the files in `MAKERS`."""
    return MAKERS[what](taught, origin)


def _list(suffix: str, kind: str) -> Callable[[Taught, Origin], Made]:
    def made(taught: Taught, origin: Origin) -> Made:
        result = taught.result
        found = _reported(taught, result) if isinstance(result, Reported) else _results(taught).columns("all")
        order = np.argsort(-np.nan_to_num(taught.teaching.scores, nan=-np.inf), kind="stable")
        taught_name = "taught_score"
        while taught_name in found:
            taught_name += " (paribus)"
        names = list(found)
        place = names.index("p_value") if "p_value" in names else 1
        columns = {name: found[name] for name in names[:place]} | {taught_name: taught.teaching.scores}
        columns |= {name: found[name] for name in names[place:]}
        with TemporaryDirectory() as folder:
            path = Path(folder) / f"list{suffix}"
            write_columns(path, {name: values[order] for name, values in columns.items()})
            return Made(f"{origin.stem}-anomalies{suffix}", kind, path.read_bytes())

    return made


def _results(taught: Taught) -> Results:
    """The results of the detector, with the answers."""
    return taught.result.fitted().with_answers(taught.entries)


def _reported(taught: Taught, result: Reported) -> dict[str, npt.NDArray[Any]]:
    """The rows of a report, with the answers."""
    found: dict[str, Any] = {
        "row": result.row_names,
        "score": result.scores,
        "p_value": result.p_values,
        "rank": [row.rank for row in result.held.rows],
        "kind": [row.kind for row in result.held.rows],
        "known": taught.marks.status,
        "note": taught.marks.note,
        "group": result.group_of,
        "sentence": [row.sentence for row in result.held.rows],
        "leading": [result.held.behavior[row.leading] for row in result.held.rows],
    }
    taken = {name.casefold() for name in result.columns.names}
    named = {name if name not in taken else f"{name} (paribus)": np.asarray(values) for name, values in found.items()}
    return named | result.columns.columns


def _report(taught: Taught, origin: Origin) -> Made:
    analysis, results = taught.result.fitted(), _results(taught)
    names = RowNames(results.rows.table, next((n for n, role in analysis.roles.items() if role == ID), None))
    chosen = results.highest(N_REPORTED)
    explanations = list(results.explain(chosen)) if chosen.size else []
    with TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        analysis.detector.write_report(path, explanations, results=results, title=origin.table, names=names)
        return Made(f"{origin.stem}-report.html", "text/html", path.read_bytes())


def _model(taught: Taught, origin: Origin) -> Made:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.paribus"
        taught.result.fitted().detector.save(path, note=origin.table)
        return Made(f"{origin.stem}.paribus", "application/octet-stream", path.read_bytes())


def _script(taught: Taught, origin: Origin) -> Made:
    return Made(f"{origin.stem}.py", "text/x-python", python_script(taught, origin).encode())


def _command(taught: Taught, origin: Origin) -> Made:
    note = f"# {REFITS}\n" if origin.kind == TABLE and fits_anew(taught) else ""
    return Made(f"{origin.stem}.sh", "text/x-shellscript", f"{note}{shell_command(taught, origin)}\n".encode())


MAKERS: dict[str, Callable[[Taught, Origin], Made]] = {
    "csv": _list(".csv", "text/csv"),
    "parquet": _list(".parquet", "application/vnd.apache.parquet"),
    "report": _report,
    "model": _model,
    "script": _script,
    "command": _command,
}


def python_script(taught: Taught, origin: Origin) -> str:
    """A Python script that repeats the work."""
    analysis = taught.result.fitted()
    entries, at_fit = ([_as_dict(each) for each in known] for known in (taught.entries, analysis.known))
    lines = ["import paribus", ""]
    if origin.kind == MODEL:
        lines += [f"detector = paribus.load({origin.table!r})"]
    else:
        roles, id_column = _roles(analysis)
        named = _literal(id_column)
        lines = ["import paribus", "from paribus.io.reading import read"]
        lines += [] if id_column is None else ["from paribus.tables.table import NamedRows"]
        lines += ["", f"table = read({origin.table!r}).columns"]
        if id_column is not None:
            lines += [f"table = NamedRows(table, table[{named}])"]
        lines += ["", f"detector = paribus.{type(analysis.detector).__name__}("]
        lines += [f"    contextual={_literal(roles[CONTEXT])},", f"    behavioral={_literal(roles[BEHAVIOR])},"]
        lines += [f"    {name}={_literal(value)}," for name, value in analysis.parameters.items() if name != "method"]
        lines += [")"]
        if at_fit:
            lines += ["# What was known then: nothing is learned from confirmed anomalies."]
        lines += [f"detector.fit(table, known={_literal(at_fit)})" if at_fit else "detector.fit(table)"]
    lines += [
        "",
        f"# The answers, which are also in {origin.known.name}.",
        f"known = {_literal(entries)}",
        "teaching = detector.teach(known)",
        "for row in teaching.highest(20):",
        "    print(f'{teaching.scores[row]:6.2f}  {detector.explain(int(row))}')",
        "",
    ]
    return "\n".join(lines)


def fits_anew(taught: Taught) -> bool:
    """Whether the shell command fits to other rows than the page did: it learns nothing from confirmed anomalies."""
    now, then = (
        {(entry.row, entry.rule) for entry in entries if entry.status == CONFIRMED}
        for entries in (taught.entries, taught.result.fitted().known)
    )
    return now != then


def shell_command(taught: Taught, origin: Origin) -> str:
    """The command that repeats the work."""
    known = ["--known", origin.known.name, "--learn"] if taught.entries else []
    if origin.kind == MODEL:
        return " ".join(["paribus", "explore", shlex.quote(_file(origin.table)), *map(shlex.quote, known[:2])])
    analysis = taught.result.fitted()
    roles, id_column = _roles(analysis)
    words = ["paribus", "detect", _file(origin.table)]
    words += ["--context", _names(roles[CONTEXT]), "--behavior", _names(roles[BEHAVIOR])]
    words += [] if id_column is None else ["--id", id_column]
    for name, value in analysis.parameters.items():
        if name == "categorical":
            words += ["--categorical", _names(value)] if value else []
        else:
            words += [f"--{name.replace('_', '-')}", str(value)]
    return " ".join(shlex.quote(word) for word in [*words, *known])


def _roles(analysis: Analysis) -> tuple[dict[str, list[str]], str | None]:
    roles = {
        role: [name for name in analysis.columns.names if analysis.roles.get(name) == role]
        for role in (CONTEXT, BEHAVIOR)
    }
    return roles, next((name for name, role in analysis.roles.items() if role == ID), None)


def _file(name: str) -> str:
    """A file name that is not mistaken for an option."""
    return f"./{name}" if name.startswith("-") else name


def _names(names: list[str]) -> str:
    """The names of columns as the value of an option."""
    return ",".join('"' + name.replace('"', '""') + '"' if set(name) & set(',"') else name for name in names)


def _literal(value: Any) -> str:
    """A value as a Python literal, so that names and notes cannot be code."""
    return pprint.pformat(value, width=100, sort_dicts=False)


def _as_dict(entry: KnownEntry) -> dict[str, str]:
    about = {"row": entry.row or ""} if entry.rule is None else {"rule": entry.rule.text}
    return {**about, "status": entry.status, **({"note": entry.note} if entry.note else {})}
