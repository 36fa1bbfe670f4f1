"""Requests to the service and to the explorer, by their ASGI interface, without a network; where both are there."""

from __future__ import annotations

import asyncio
import json
import time
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from fuzzing.area import Area, expect, scratch
from paribus import ConditionalSurprise

TOKEN, HOST = "t0ken", "127.0.0.1:8000"
PATHS = ("/score", "/explain", "/health", "/metrics", "/openapi.json", "/nowhere", "/score/../health")
METHODS = ("POST", "POST", "POST", "GET", "PUT", "DELETE", "OPTIONS", "HEAD")
MAX_BODY = 10_000
SEEDS = [
    b'\x00\x00{"row": {"x": 1.5, "y": 2, "kind": "a"}}',
    b'\x00\x00{"rows": [{"x": 1, "y": 2, "kind": "a"}, {"x": null, "y": 3}]}',
    b'\x01\x00{"row": {"x": 1.5, "y": 2, "kind": "a"}}',
    b"\x02\x03",
    b'\x00\x00[{"x": 1e400, "y": -1, "kind": 5}]',
]
TOKENS = (
    b'{"row": ',
    b'{"rows": [',
    b"]",
    b"}",
    b'"x"',
    b"null",
    b"NaN",
    b"1e999",
    b'""',
    b"[" * 3_000,
    b"{}",
    b"\\ud800",
)


@cache
def service() -> tuple[Any, asyncio.AbstractEventLoop]:
    """The application, started, and the loop that it runs in."""
    from paribus.serving.security import Guard
    from paribus.serving.service import Limits, make_service

    random = np.random.default_rng(0)
    x = random.normal(size=60)
    table = {"x": x, "kind": random.choice(np.array(["a", "b"]), 60), "y": 2 * x + random.normal(size=60)}
    detector = ConditionalSurprise(["x", "kind"], ["y"], n_trees=4, n_jobs=1).fit(table)
    guard = Guard(TOKEN, frozenset({HOST}), public=("/health", "/openapi.json"), max_body=MAX_BODY)
    app, loop = make_service(detector, Limits(max_rows=20, max_waiting=1000), guard), asyncio.new_event_loop()
    loop.run_until_complete(app.router.lifespan_context(app).__aenter__())
    return app, loop


async def _ask(app: Any, method: str, path: str, body: bytes) -> tuple[int, bytes]:
    headers = [(b"host", HOST.encode()), (b"authorization", f"Bearer {TOKEN}".encode())]
    headers.append((b"content-length", str(len(body)).encode()))
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "path": path,
        "raw_path": path.encode(), "query_string": b"", "headers": headers, "scheme": "http", "root_path": "",
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8000),
    }  # fmt: skip
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return sent[0]["status"], b"".join(each.get("body", b"") for each in sent)


def check(data: bytes) -> bool:
    """Tests that a request is refused in one sentence, or answered with numbers; never an error of the server."""
    if len(data) < 2:
        return False
    path, method, body = PATHS[data[0] % len(PATHS)], METHODS[data[1] % len(METHODS)], data[2:]
    app, loop = service()
    status, answer = loop.run_until_complete(_ask(app, method, path, body))
    expect(status < 500, f"{method} {path} answers {status}")
    if status == 200 and path == "/score":
        found = json.loads(answer)
        for each in found.get("results", [found]):
            expect(each["score"] is None or np.isfinite(each["score"]), f"the score is {each['score']}")
    elif status >= 400 and path in ("/score", "/explain") and method == "POST":
        expect(0 < len(json.loads(answer)["error"]) < 3_000, "the error has no sentence")
    return status == 200


EXPLORER_PATHS = (
    "open", "roles", "parameters", "show", "rows", "place", "map", "row", "what-if", "answer", "take-back", "undo",
    "rule", "next", "words", "files", "take-away", "dismiss", "cancel", "nothing",
)  # fmt: skip
"""Not "fit", which takes as long as the table and the number of trees say."""
EXPLORER_SEEDS = [
    b'\x00{"file": "days.csv"}', b'\x00{"file": "../outside.csv"}', b'\x01{"roles": {"x": "context", "y": "behavior"}}',
    b'\x02{"parameters": {"n_trees": 8, "categorical": ["kind"], "method": "surprise", "false_alarms": 0.01}}',
    b'\x03{"number": 1, "compared": null}',
    b'\x04{"begin": 0, "n": 5, "filter": {"sort": "score", "text": "a", "status": "", "kind": ""}}',
    b'\x05{"row": 3, "filter": {}}', b'\x06{"x": "x", "y": "y", "filter": {}}', b'\x07{"row": 3}',
    b'\x08{"row": 3, "values": {"y": "5", "x": "1.5"}, "left_out": ["kind"]}',
    b'\x09{"row": 2, "status": "confirmed", "note": "seen"}', b'\x09{"rule": "y > 1", "status": "false alarm"}',
    b'\x0a{"place": 0}', b"\x0b{}", b'\x0c{"rule": "x between 1 and 2 and kind = a"}', b'\x0d{"how": "highest"}',
    b"\x0e{}", b"\x0f{}", b'\x10{"what": "csv"}', b"\x11{}", b"\x12{}",
]  # fmt: skip
MAX_REQUESTS = 500


@cache
def explorer_folder() -> Path:
    """A folder with a table; another table lies outside."""
    inside = scratch() / "explorer"
    inside.mkdir(exist_ok=True)
    random = np.random.default_rng(0)
    lines = [f"{place % 5},{'ab'[place % 2]},{random.normal():.3f}" for place in range(40)]
    for path in (inside / "days.csv", scratch() / "outside.csv"):
        path.write_text("\n".join(["x,kind,y", *lines]))
    return inside


class _Explorer:
    """A session with a fitted table; it begins anew after some requests, since answers pile up."""

    def __init__(self) -> None:
        from paribus.explore.app import PUBLIC, create_app
        from paribus.explore.folder import Folder
        from paribus.explore.session import Session
        from paribus.serving.security import Guard

        (explorer_folder() / "days.known.csv").unlink(missing_ok=True)
        self.n_requests = 0
        self.session = Session(Folder(explorer_folder()), n_jobs=1)
        guard = Guard(TOKEN, frozenset({HOST}), PUBLIC, max_body=MAX_BODY)
        self.app, self.loop = create_app(self.session, guard), asyncio.new_event_loop()
        self.session.open(explorer_folder() / "days.csv")
        self.wait()
        self.session.set_roles({"x": "context", "kind": "context", "y": "behavior"})
        self.session.set_parameters({"n_trees": 4})
        self.session.fit()
        self.wait()

    def wait(self) -> None:
        while self.session.progress() is not None:
            time.sleep(0.001)

    def ask(self, path: str, body: bytes) -> tuple[int, bytes]:
        self.n_requests += 1
        found = self.loop.run_until_complete(_ask(self.app, "POST", f"/api/{path}", body))
        self.wait()
        return found


_EXPLORERS: list[_Explorer] = []


def check_explorer(data: bytes) -> bool:
    """Tests that a request is answered, or refused in one sentence, and that only files of the folder are opened."""
    if not _EXPLORERS or _EXPLORERS[0].n_requests > MAX_REQUESTS or _EXPLORERS[0].session.state()["result"] is None:
        _EXPLORERS[:] = [_Explorer()]
    explorer = _EXPLORERS[0]
    if not data:
        return False
    path = EXPLORER_PATHS[data[0] % len(EXPLORER_PATHS)]
    status, answer = explorer.ask(path, data[1:])
    expect(status < 500, f"{path} answers {status}")
    if 400 <= status < 404:
        expect(0 < len(json.loads(answer)["error"]) < 3_000, "the error has no sentence")
    state = explorer.session.state()
    json.dumps(state)
    expect(state["file"] in (None, "days.csv"), f"{state['file']} was opened")
    expect("should not have" not in (state["message"] or ""), str(state["message"]))
    return status == 200


# The service is an extra.
IS_THERE = find_spec("paribus.serving") is not None and find_spec("starlette") is not None
ORACLE = "no answer is an error of the server"
AREAS = (
    [
        Area("http service", lambda: SEEDS, check, 0.015, TOKENS, ORACLE),
        Area("http explorer", lambda: EXPLORER_SEEDS, check_explorer, 0.01, TOKENS, ORACLE),
    ]
    if IS_THERE
    else []
)
