"""Tables of a real PostgreSQL server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np
import pytest
import sqlalchemy

from paribus.io.reading import Limits, TextOptions, Wanted, open_stream, raw, read
from paribus.io.reading.database import stream_database
from tests.databases.postgresql import ADVICE, PASSWORD, find_postgresql, server
from tests.support.running import invoke
from tests.support.system_packages import must_have

TYPES = '''
CREATE TABLE kinds (
    id serial, small smallint, big bigint, exact numeric(20, 5), anything numeric, single real, double double precision,
    is_open boolean, word text, letter char(3), mood mood, day date, moment timestamp, zoned timestamptz, clock time,
    span interval, code uuid, counts integer[], facts jsonb, bytes bytea, nothing integer
);
INSERT INTO kinds (small, big, exact, anything, single, double, is_open, word, letter, mood, day, moment, zoned, clock,
    span, code, counts, facts, bytes) VALUES
    (1, 9007199254740993, 12345.67890, 1e30, 1.5, 'NaN', true, 'Köln', 'ab', 'sad', '2026-01-31', '2026-01-31 14:30',
     '2026-07-01 12:00+02', '14:30', '1 day 6 hours', '00000000-0000-0000-0000-000000000001', '{1,2}', '{"a": 1}', 'x'),
    (-1, -2, NULL, 'NaN', NULL, -1e-300, false, '', 'c', 'ok', '1900-02-28', '2026-01-31 14:30:00.000001',
     '2026-01-01 00:00+00', '00:00', '90 minutes', '00000000-0000-0000-0000-000000000002', NULL, NULL, NULL),
    (NULL, NULL, -0.5, 0, 2, 3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{}', '[]', '');
CREATE SCHEMA "Odd-""schema""";
CREATE TABLE "Odd-""schema"""."t" AS SELECT 1 AS "a ""quoted"" name", 2 AS "Upper";
CREATE TABLE days AS SELECT n AS id, mod(n * 7, 12)::text AS month, mod(n, 90)::numeric(8, 2) AS rain
    FROM generate_series(1, 5000) AS n;
CREATE VIEW wet AS SELECT * FROM days WHERE rain > 80;
'''


def _wanted(name: str, _: Any) -> Wanted:
    return Wanted([name], strict=True)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    programs = find_postgresql()
    if programs is None:
        reason = f"there is no PostgreSQL: {ADVICE}"
        pytest.fail(reason) if must_have() else pytest.skip(reason)
    assert programs is not None
    with server(programs) as url:
        engine = sqlalchemy.create_engine(url)
        with engine.begin() as connection:
            connection.execute(sqlalchemy.text("CREATE TYPE mood AS ENUM ('sad', 'ok')"))
            for statement in TYPES.split(";\n"):
                if statement.strip():
                    connection.exec_driver_sql(statement)
        engine.dispose()
        yield url


def simple(names: list[str]) -> Wanted:
    return Wanted([name for name in names if name not in ("counts", "facts", "bytes")], strict=True)


def test_types_are_those_of_the_same_values_in_text(address: str) -> None:
    """Tests numbers, decimals, times with and without zones, times of day, spans, enums, ids and NULLs."""
    columns = read(address, simple, sql="kinds").columns
    expected: dict[str, list[Any]] = {
        "id": [1.0, 2.0, 3.0],
        "small": [1.0, -1.0, None],
        "big": [9007199254740992.0, -2.0, None],
        "exact": [12345.6789, None, -0.5],
        "anything": [1e30, None, 0.0],
        "single": [1.5, None, 2.0],
        "double": [None, -1e-300, 3.0],
        "is_open": [True, False, None],
        "word": ["Köln", None, None],
        "letter": ["ab", "c", None],
        "mood": ["sad", "ok", None],
        "clock": [14.5, 0.0, None],
        "span": [30.0, 1.5, None],
        "code": [f"00000000-0000-0000-0000-00000000000{i}" for i in (1, 2)] + [None],
        "nothing": [None, None, None],
    }
    for name, values in expected.items():
        found = [None if value != value else value for value in columns[name].tolist()]
        assert found == values, name
    moments = {name: columns[name].astype(str).tolist() for name in ("day", "moment", "zoned")}
    assert moments["day"] == ["2026-01-31T00:00:00.000000", "1900-02-28T00:00:00.000000", "NaT"]
    assert moments["moment"] == ["2026-01-31T14:30:00.000000", "2026-01-31T14:30:00.000001", "NaT"]
    # In UTC, whatever the time zone of the server and of the session.
    assert moments["zoned"] == ["2026-07-01T10:00:00.000000", "2026-01-01T00:00:00.000000", "NaT"]
    for name in ("counts", "facts", "bytes"):
        with pytest.raises(ValueError, match=rf"^weather, row 0: column '{name}' holds a \w+, which is neither"):
            read(address, partial(_wanted, name), sql="kinds")


def test_names_schemas_views_and_mistakes(address: str) -> None:
    """Tests tables of other schemas, views, queries, and one sentence for what is not there."""
    assert list(read(address, sql='Odd-"schema".t').columns) == ['a "quoted" name', "Upper"]
    assert read(address, sql="wet").n_rows == read(address, sql="SELECT id::int FROM days WHERE rain > 80").n_rows
    for sql, message in {
        "dais": "there is no table dais: did you mean days?",
        "SELECT nope FROM days": 'column "nope" does not exist',
        "DROP TABLE days": 'syntax error at or near "DROP"',
        "DELETE FROM days RETURNING id": 'syntax error at or near "DELETE"',
        "SELECT 'infinity'::timestamp AS t": "timestamp too large",
        "SELECT 1 / (id - 3) FROM days": "division by zero",
    }.items():
        with pytest.raises(ValueError, match=r"^weather: [^\n]*$") as caught:
            read(address, sql=sql)
        assert message in str(caught.value)
    # Nothing was written: a cursor takes queries only.
    assert read(address, sql="days").n_rows == 5000


def test_large_tables_are_read_by_a_cursor_of_the_server(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that rows come in batches, in the order of the query, and that only requested rows leave the server."""
    monkeypatch.setattr(raw, "BATCH_SIZE", 512)
    with ExitStack() as stack:
        stream = open_stream(address, stack, sql="SELECT * FROM days ORDER BY id")
        batches = [batch["id"].tolist() for batch in stream.batches()]
    assert max(map(len, batches)) == 512
    assert [each for batch in batches for each in batch] == list(range(1, 5001))
    assert stream.n_rows == 5000
    with ExitStack() as stack:
        # It would take minutes and all memory to read these.
        opened = stream_database(address, "SELECT generate_series(1, 1000000000) AS n", stack)
        assert next(opened.batches(Wanted())).n_rows == 512


def test_a_connection_that_is_lost_is_one_sentence(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests a server that ends the connection in the middle of the rows."""
    monkeypatch.setattr(raw, "BATCH_SIZE", 512)
    engine = sqlalchemy.create_engine(address)

    def read_and_lose() -> None:
        with ExitStack() as stack:
            for batch in open_stream(address, stack, sql="days").batches():
                with engine.connect() as other:
                    others = "pid <> pg_backend_pid() AND backend_type = 'client backend'"
                    asked = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}"
                    other.execute(sqlalchemy.text(asked))
                assert len(batch["id"]) <= 512

    with pytest.raises(ValueError, match=r"^weather: [^\n]*terminat[^\n]*$"):
        read_and_lose()
    engine.dispose()


def test_passwords_are_never_printed(address: str) -> None:
    """Tests the overview, errors of the server, a wrong password, and --debug."""
    secret = PASSWORD.replace(" ", "%20")
    wrong = address.replace(secret, "wr0ng-secret")
    nowhere = address.replace("host=/tmp", "host=/nowhere")
    for arguments, code in (
        (["detect", address, "--sql", "days"], 0),
        (["detect", address, "--sql", "dais"], 2),
        (["detect", address], 2),
        (["detect", wrong, "--sql", "days"], 2),
        (["detect", nowhere, "--sql", "days"], 2),
        (["detect", address.replace("postgresql+psycopg", "postgresql+nope"), "--sql", "days"], 2),
        (["detect", address, "-c", "month", "-b", "rain"], 2),
    ):
        found = invoke(*arguments)
        assert found[0] == code, found
        for text in found[1:]:
            assert secret not in text
            assert PASSWORD not in text
            assert "wr0ng" not in text
            assert "Traceback" not in text
    assert "password authentication failed" in invoke("detect", wrong, "--sql", "days")[2]
    assert "postgresql+psycopg://tester:***@/" in invoke("detect", address, "--sql", "days")[1]


def test_limits_hold_for_databases(address: str) -> None:
    """Tests that too long values are refused with the row."""
    query = "SELECT repeat('x', 9 * n) AS x FROM generate_series(1, 3) n"
    with pytest.raises(ValueError, match=r"^weather, row 1: a value is longer than 10 characters"):
        read(address, sql=query, text=TextOptions(limits=Limits(cell=10)))
    numbers = read(address, sql="SELECT 1.5::numeric AS x UNION ALL SELECT NULL").columns["x"]
    assert np.isnan(numbers).tolist() == [False, True]
