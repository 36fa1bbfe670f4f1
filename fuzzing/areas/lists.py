"""Lists of known rows, and the rules in them."""

from __future__ import annotations

from functools import cache

import numpy as np

from fuzzing.area import REFUSED, Area, as_file, expect, sentence
from paribus.explain.known import STATUSES, mark, read_known
from paribus.explain.rules import parse_rule
from paribus.tables.table import Table

RULES = [
    b"z = 0", b"wind is above usual and month = January", b"x between 1 and 2.5", b'month in (1, "x, y", z)',
    b"x is missing and z != 3", b"when >= 2026-01-31 and wind is unusual", b'"quoted ""name""" < -1e5',
]  # fmt: skip
RULE_TOKENS = (
    b"9999-12-31T23:59:59-12:00",
    b" and ",
    b" is ",
    b"in (",
    b")",
    b",",
    b"between",
    b"usual",
    b"missing",
    b"x",
    b"wind",
    b'""',
    b"<=",
    b"!=",
)
FILES = [
    b"row,rule,status,note\nS137,,confirmed,station moved\n,z = 0,false alarm,\n",
    b"\xef\xbb\xbfstatus,row\nknown cause,2\n",
    b'[{"row": "1", "status": "confirmed"}, {"rule": "x > 1", "status": "false_alarm", "note": "n"}]',
    b'rule,status\n"x in (1, 2)",known-cause\n\'=1+1,confirmed\n',
]
FILE_TOKENS = (
    b"confirmed",
    b"false alarm",
    b"\nx > 1",
    b'{"row": ',
    b"[",
    b"]",
    b"}",
    b"null",
    b",",
    b'"',
    b"'=",
    b"\n",
)


@cache
def table() -> Table:
    """A small table that rules are about."""
    return Table(
        {
            "x": np.array([1.0, 2.0, np.nan, 0.0]),
            "z": np.array([0.0, 1.0, 0.0, 5.0]),
            "wind": np.array([3.0, 3.0, 4.0, 1e300]),
            "month": np.array(["January", "May", None, "x, y"], dtype=object),
            "when": np.array(["2026-01-31", "2026-02-01", "NaT", "1900-01-01"], dtype="M8[us]"),
        }
    )


def check_rule(data: bytes) -> bool:
    """Tests that a rule is refused in one sentence, or marks rows and means the same when it is read again."""
    try:
        text = data.decode("utf-8", "replace")
        rule = parse_rule(text)
        entries = read_known([{"rule": text, "status": "confirmed"}])
        marks = mark(entries, table(), ["0", "1", "2", "3"], ())
    except REFUSED as error:
        sentence(error)
        return False
    again = mark(read_known([{"rule": rule.text, "status": "confirmed"}]), table(), ["0", "1", "2", "3"], ())
    expect(marks.status.tolist() == again.status.tolist(), f"{rule.text!r} means something else than {text!r}")
    return True


def check_file(data: bytes) -> bool:
    """Tests that a file is refused in one sentence, or marks rows of the table."""
    try:
        entries = read_known(as_file(data, "known.csv"))
        marks = mark(entries, table(), ["0", "1", "S137", "2"], ())
    except REFUSED as error:
        sentence(error)
        return False
    expect(set(marks.status.tolist()) <= {None, *STATUSES}, "an unknown status")
    return True


AREAS = [
    Area("rules", lambda: RULES, check_rule, 0.15, RULE_TOKENS, "the same rule, written again"),
    Area("known files", lambda: FILES, check_file, 0.1, FILE_TOKENS),
]
