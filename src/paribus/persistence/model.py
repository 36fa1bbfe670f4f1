"""Fitted detectors in files: versioned, without pickle, and fully validated when they are read."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import LARGEST_NUMBER, Floats
from paribus._common.atomic_files import AnyPath, atomic_write
from paribus._common.untrusted import (
    DamagedError,
    Fields,
    array_of,
    floats_of,
    is_finite,
    is_whole,
    with_quiet_nan,
)
from paribus._core import check_rows
from paribus.methods.fitted import Fitted
from paribus.methods.interface import KIND_NAMES, Arrays, Judged, StoredArrays
from paribus.methods.registry import find_by_name
from paribus.persistence.archive import ForeignError, read_archive, verified, write_archive
from paribus.persistence.columns import (
    check_parts,
    pack,
    pack_category,
    pack_times,
    timestamps,
    unpack,
    unpack_category,
    unpack_times,
)
from paribus.persistence.described import pack_described, unpack_described
from paribus.tables.column import Kind
from paribus.tables.encoded_table import EncodedTable
from paribus.tables.encoding import BehaviorEncoding, ContextEncoding
from paribus.tables.roles import MAX_CONTEXTUAL, Roles
from paribus.tables.table import Table

FORMAT = "paribus model"
CELL_P_VALUES = ("cell_p_values", "cell_p_values_given_all")
VERSION = 5
WHAT = "a model saved by paribus"
# The types in which columns of timestamps and durations are stored, by the value of `Table.holds`.
_TIME_TYPES = {"timestamps": "M8[us]", "durations": "m8[us]"}
# Types of arrays that are kept; others become arrays of objects.
_ARRAY_TYPES = ("f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1")


def save_model(path: AnyPath, parameters: Mapping[str, Any], fitted: Fitted) -> None:
    """Writes a fitted detector to a file: completely, or not at all."""
    encoded, table = fitted.table, fitted.table.original
    roles = encoded.roles
    fields, arrays = fitted.method.pack(fitted.state)
    # One kind of NaN, so that a file that is read and saved again is the same.
    arrays |= {"rows": with_quiet_nan(encoded.rows), **_pack_judged(fitted.judged), "reach": fitted.reach}
    described, summaries = pack_described(encoded)
    arrays |= summaries
    if encoded.order is not None:
        arrays["order"] = encoded.order
    if len(fitted.excluded):
        arrays["excluded"] = fitted.excluded
    in_roles = {*roles.contextual, *roles.behavioral}
    for position in range(table.n_columns):
        if position not in in_roles:
            arrays |= pack(f"column_{position}", table.values(position))
    if (labels := table.labels()) is not None:
        arrays |= pack("labels", labels)
    header = {
        "format": FORMAT,
        "version": VERSION,
        "paribus": version("paribus"),
        "parameters": {name: _plain(value) for name, value in parameters.items()},
        "rows": table.n_rows,
        "columns": table.names if table.names is not None else table.n_columns,
        "array": None if table.array_type is None else table.array_type.str,
        "types": {str(p): _type_of(table, p) for p in sorted(in_roles - set(roles.categorical))},
        "contextual": roles.contextual,
        "behavioral": roles.behavioral,
        "by_name": roles.by_name,
        "contexts": roles.contexts,
        "labels": labels is not None,
        "categories": [
            None if codes is None else [pack_category(category) for category in codes]
            for codes in [*encoded.encoding.codes, *encoded.behavior_encoding.codes]
        ],
        "times": [None if each is None else pack_times(each) for each in encoded.encoding.times],
        "missing": encoded.behavior_encoding.missing,
        "method": fitted.method.name,
        **fields,
        "described": described,
        "threshold": float(fitted.threshold),
        "seconds": float(fitted.seconds),
        "excluded": len(fitted.excluded),
        "fitted_at": fitted.fitted_at,
        "note": fitted.note,
        "known": [dict(entry) for entry in fitted.known],
    }
    with atomic_write(path) as file:
        write_archive(file, header, arrays, fitted.method.verifies_itself)


def load_model(path: AnyPath) -> tuple[dict[str, Any], Fitted]:
    """Reads the parameters and the state of a saved detector."""
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, not {WHAT}")
    if not path.exists():
        raise FileNotFoundError(f"there is no model {path}")
    if not path.is_file():
        raise ValueError(f"{path} is a pipe or a device, and a model cannot be read from one: save it to a file first")
    header, arrays, is_mapped = read_archive(path, WHAT)
    if header.get("format") != FORMAT:
        raise ForeignError(f"{path.name} is not {WHAT}")
    if not is_whole(header.get("version")) or header["version"] < 1:
        raise DamagedError(f"{path.name} is damaged: it has no version")
    if header["version"] > VERSION:
        newer = header.get("paribus")
        raise ValueError(f"{path.name} was saved by a newer paribus ({str(newer)[:20]}): this one cannot read it")
    if header["version"] < VERSION:
        raise ValueError(
            f"{path.name} is a model of version {header['version']}, which this paribus no longer reads: "
            "fit the detector and save it again"
        )
    try:
        stored = verified(header, arrays)
        parameters, fitted = _restore(Fields(header), stored)
        if not is_mapped:
            # A large file is verified when it is used. A small one is verified now, so that errors name the file.
            stored.verify_all()
            _ = fitted.judged, fitted.table.original, fitted.method.restore(fitted.learned, fitted.state, 1)
        return parameters, fitted
    except (DamagedError, RecursionError) as error:
        raise DamagedError(f"{path.name} is damaged: {error}") from None


def _restore(header: Fields, arrays: StoredArrays) -> tuple[dict[str, Any], Fitted]:
    n_rows = header.whole("rows", 2, 2**32 - 2)
    columns = header.get("columns", lambda value: is_whole(value) or _is_texts(value))
    n_columns = len(columns) if isinstance(columns, list) else columns
    contextual = header.positions("contextual", n_columns)
    behavioral = header.positions("behavioral", n_columns)
    if set(contextual) & set(behavioral) or len(contextual) > MAX_CONTEXTUAL:
        raise DamagedError("a column has two roles")
    encoding, behavior_encoding = _encodings(header, contextual, behavioral)
    in_roles, all_codes = [*contextual, *behavioral], [*encoding.codes, *behavior_encoding.codes]
    categorical = frozenset(p for p, codes in zip(in_roles, all_codes, strict=True) if codes is not None)
    shape = (n_rows, behavior_encoding.n_features)
    rows = array_of(arrays, "rows", np.float64, (n_rows, len(contextual) + behavior_encoding.n_features))
    n_codes = [0 if codes is None else len(codes) for codes in [*encoding.codes, *behavior_encoding.feature_codes]]
    is_number = np.append(encoding.categorical == 0, behavior_encoding.categorical == 0)
    is_sound, is_quiet = check_rows(
        rows, is_number.astype(np.uint8), np.array(n_codes, dtype=np.float64), LARGEST_NUMBER
    )
    if not is_sound:
        raise DamagedError("rows has a number out of range, or a category without a name")
    if not is_quiet:
        rows = with_quiet_nan(rows)
    order = array_of(arrays, "order", np.uint32, (n_rows,)) if "order" in arrays else None
    reach = arrays.get("reach", np.empty(0))
    reach = floats_of(arrays, "reach", (min(max(len(reach), 1), n_rows), 2))
    if np.isnan(reach).any():
        raise DamagedError("the distances are invalid")
    contexts = header.get("contexts", lambda value: value is None or _are_contexts(value, contextual, behavioral))
    roles = Roles(contextual, behavioral, categorical, header.flag("by_name"), contexts)
    if roles.by_name and not isinstance(columns, list):
        raise DamagedError("the columns have no names")
    _check_table(header, arrays, roles, columns)
    encoded: EncodedTable | None = None

    def original() -> Table:
        assert encoded is not None
        return _table(header, arrays, encoded, columns)

    for place, flags in zip(behavior_encoding.missing, rows.T[len(in_roles) :], strict=True):
        if not np.array_equal(np.isnan(rows[:, len(contextual) + place]), flags == 1.0):
            raise DamagedError("missing is invalid")
    described = unpack_described(header, arrays, n_rows, is_number)
    encoded = EncodedTable(original, roles, encoding, rows, order, columns, behavior_encoding, described)
    if order is not None and (order.max() >= n_rows or (order[encoded.places] != np.arange(n_rows)).any()):
        raise DamagedError("order is not a permutation")
    _check_judged(arrays, len(behavioral))
    method = find_by_name(header.get("method", lambda name: find_by_name(name) is not None))
    assert method is not None
    n_excluded = header.whole("excluded", 0, n_rows - 1)
    excluded = array_of(arrays, "excluded", np.int64, (n_excluded,)) if n_excluded else np.empty(0, dtype=np.int64)
    if ((excluded < 0) | (excluded >= n_rows)).any() or len(np.unique(excluded)) < n_excluded:
        raise DamagedError("the excluded rows are invalid")
    state = method.method.unpack(header, arrays, encoded.without_behavior(excluded))
    threshold = float(header.get("threshold", is_finite))
    seconds = float(header.get("seconds", is_finite))
    parameters = header.get("parameters", lambda value: isinstance(value, dict))
    for name in ("contextual", "behavioral", "categorical"):
        value = parameters.get(name)
        lists = [value]
        if name == "contextual" and isinstance(value, dict):
            # Each behavioral column has a context; constant ones may have had one, too.
            lists = list(value.values()) if {encoded.name(p) for p in behavioral} <= value.keys() else [False]
        if not all(map(_is_columns, lists)):
            raise DamagedError(f"the parameter {name} is invalid")
    judged = partial(_unpack_judged, arrays, shape, len(behavioral))
    fitted_at = header.get("fitted_at", lambda value: isinstance(value, str))
    note = header.get("note", lambda value: isinstance(value, str))
    known = header.get("known", _are_entries)
    fitted = Fitted(encoded, method.method, state, judged, reach, threshold, seconds, excluded, fitted_at, note, known)
    return parameters, fitted


def _pack_judged(judged: Judged) -> Arrays:
    partial = with_quiet_nan(judged.partial)
    with np.errstate(over="ignore"):
        short = partial.astype(np.float32)
    # Of methods whose scores have no more digits, all are kept in half the space.
    arrays: Arrays = {"partial_scores": short if np.array_equal(short, partial, equal_nan=True) else partial}
    if judged.kinds is not None and judged.cell_codes is not None:
        arrays["kinds"] = np.array([KIND_NAMES.index(kind) for kind in judged.kinds], dtype=np.uint8)
        arrays["cell_p_values"] = judged.cell_codes
        if judged.cell_codes_given_all is not None:
            arrays["cell_p_values_given_all"] = judged.cell_codes_given_all
    return arrays


def _check_judged(arrays: StoredArrays, n_columns: int) -> None:
    """Raises an error if the results of the fitted rows are missing; their values are validated when they are read."""
    names = {"partial_scores"}
    if arrays.keys() & {"kinds", *CELL_P_VALUES}:
        # A single column cannot be conditioned on others.
        names |= {"kinds", *CELL_P_VALUES[: min(n_columns, 2)]}
    if not names <= arrays.keys():
        raise DamagedError("the results of the fitted rows are missing")


def _unpack_judged(arrays: StoredArrays, shape: tuple[int, int], n_columns: int) -> Judged:
    short = "partial_scores" in arrays and arrays["partial_scores"].dtype == np.float32
    stored = array_of(arrays, "partial_scores", np.float32 if short else np.float64, shape)
    partial: Floats = np.where(np.isnan(stored), np.nan, stored).astype(np.float64)
    if (partial < 0).any() or np.isnan(partial).all():
        raise DamagedError("the scores are invalid")
    if not arrays.keys() & {"kinds", *CELL_P_VALUES}:
        return Judged(partial)
    kinds = array_of(arrays, "kinds", np.uint8, shape[:1])
    # A single column cannot be conditioned on others.
    found = [array_of(arrays, name, np.uint16, shape) for name in CELL_P_VALUES[: min(n_columns, 2)]]
    if (kinds >= len(KIND_NAMES)).any():
        raise DamagedError("the verdicts are invalid")
    return Judged(partial, np.array(KIND_NAMES, dtype=object)[kinds], *found)


def _encodings(
    header: Fields, contextual: list[int], behavioral: list[int]
) -> tuple[ContextEncoding, BehaviorEncoding]:
    n_columns = len(contextual) + len(behavioral)
    stored = header.get("categories", lambda value: isinstance(value, list) and len(value) == n_columns)
    missing = header.get("missing", lambda value: isinstance(value, list) and value == sorted(set(value)))
    if not all(is_whole(place) and 0 <= place < len(behavioral) for place in missing):
        raise DamagedError("missing is invalid")
    types = header.get("types", lambda value: isinstance(value, dict))
    codes: list[dict[Hashable, int] | None] = []
    for categories in stored:
        if categories is None:
            codes.append(None)
            continue
        if not isinstance(categories, list):
            raise DamagedError("the categories are invalid")
        numbered = {unpack_category(category): code for code, category in enumerate(categories)}
        if len(numbered) < len(categories):
            raise DamagedError("a category occurs twice")
        codes.append(numbered)
    held = {stored: word for word, stored in _TIME_TYPES.items()}
    words = [held.get(str(types.get(str(p))), Kind.NUMERIC.value) for p in contextual]
    times = header.get("times", lambda value: isinstance(value, list) and len(value) in (0, len(contextual)))
    for each, own_codes, word in zip(times, codes, words, strict=False):
        if each is not None and (own_codes is not None or word != Kind.TIME.value):
            raise DamagedError("times is invalid")
    parts = tuple(None if each is None else unpack_times(each) for each in times)
    of_behavior = BehaviorEncoding(codes[len(contextual) :], missing)
    return ContextEncoding(codes[: len(contextual)], words, parts), of_behavior


def _check_table(header: Fields, arrays: StoredArrays, roles: Roles, columns: list[str] | int) -> None:
    """Raises an error if the original table cannot be restored; its columns are checked when they are read."""
    types = header.get("types", lambda value: isinstance(value, dict))
    array_type = header.get("array", lambda value: value is None or isinstance(value, str))
    in_roles = {*roles.contextual, *roles.behavioral}
    if array_type is not None and (array_type[1:] not in (*_ARRAY_TYPES, "O") or isinstance(columns, list)):
        raise DamagedError("the type of the table is invalid")
    for position in range(len(columns) if isinstance(columns, list) else columns):
        if position in roles.categorical:
            continue
        if position in in_roles:
            if types.get(str(position)) not in ("whole", "number", *_TIME_TYPES.values()):
                raise DamagedError("the type of a column is invalid")
        else:
            check_parts(f"column_{position}", arrays)
    if header.flag("labels"):
        check_parts("labels", arrays)


def _table(header: Fields, arrays: StoredArrays, encoded: EncodedTable, columns: list[str] | int) -> Table:
    """The original table: columns with a role from their encoded values, the others as they were stored."""
    roles, n_rows = encoded.roles, encoded.n_rows
    all_codes = [*encoded.encoding.codes, *encoded.behavior_encoding.codes]
    types = header.get("types", lambda value: isinstance(value, dict))
    found: list[npt.NDArray[Any]] = []
    for position in range(encoded.n_columns):
        if position in roles.contextual or position in roles.behavioral:
            feature = [*roles.contextual, *roles.behavioral].index(position)
            if (codes := all_codes[feature]) is not None:
                found.append(_decoded(encoded.column(feature), list(codes)))
                continue
            found.append(_as_type(encoded.column(feature), types.get(str(position))))
        else:
            found.append(unpack(f"column_{position}", arrays, n_rows))
    labels = unpack("labels", arrays, n_rows) if header.flag("labels") else None
    array_type = header.get("array", lambda value: value is None or isinstance(value, str))
    if array_type is not None:
        return Table(_as_array(found, array_type))
    names = columns if isinstance(columns, list) else range(columns)
    return Table(dict(zip(names, found, strict=True)), labels)


def _decoded(codes: Floats, categories: list[Any]) -> npt.NDArray[Any]:
    column = np.empty(len(codes), dtype=object)
    column[:] = [None if math.isnan(code) else categories[int(code)] for code in codes.tolist()]
    return column


def _type_of(table: Table, position: int) -> str:
    whole = isinstance(table.example(position), int | np.integer)
    return _TIME_TYPES.get(table.holds(position), "whole" if whole else "number")


def _as_type(numbers: Floats, name: Any) -> npt.NDArray[Any]:
    if name in _TIME_TYPES.values():
        if (np.abs(numbers) >= 2**63).any():
            raise DamagedError("a timestamp is out of range")
        return timestamps(numbers, name)
    if name == "whole" and not np.isnan(numbers).any() and (np.abs(numbers) <= 2**53).all():
        return numbers.astype(np.int64)
    if name in ("whole", "number"):
        return numbers.copy()
    raise DamagedError("the type of a column is invalid")


def _as_array(columns: list[npt.NDArray[Any]], type_name: str) -> npt.NDArray[Any]:
    if type_name[1:] in _ARRAY_TYPES:
        if any(column.dtype.kind not in "fiu" for column in columns):
            raise DamagedError("the columns have different types")
        with np.errstate(all="ignore"):
            return np.column_stack(columns).astype(np.dtype(type_name).newbyteorder("="))
    mixed = np.empty((len(columns[0]), len(columns)), dtype=object)
    for place, column in enumerate(columns):
        mixed[:, place] = column
    return mixed


def _is_columns(value: Any) -> bool:
    keys = value if isinstance(value, list) else [] if value is None else [value]
    return all(isinstance(key, str) or is_whole(key) for key in keys)


def _are_contexts(value: Any, contextual: list[int], behavioral: list[int]) -> bool:
    return (
        isinstance(value, list)
        and len(value) == len(behavioral)
        and all(
            isinstance(each, list)
            and each
            and all(is_whole(place) and 0 <= place < len(contextual) for place in each)
            and len(set(each)) == len(each)
            for each in value
        )
    )


def _are_entries(value: Any) -> bool:
    """Whether a value is a list of known rows; their contents are validated by the detector."""
    return isinstance(value, list) and all(
        isinstance(entry, dict) and all(text is None or isinstance(text, str) for text in entry.values())
        for entry in value
    )


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value) and len(set(value)) == len(value)


def _plain(value: Any) -> Any:
    """A parameter as a JSON value; None for random generators and functions, which are not saved."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [_plain(each) for each in value]
    return value if isinstance(value, bool | int | float | str) else None
