"""Requests to the HTTP service, by its ASGI interface, without a network; only where the service is installed."""

from __future__ import annotations

import asyncio
import json
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from fuzzing.area import Area, expect
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


# The service is an extra.
IS_THERE = find_spec("paribus.serving") is not None and find_spec("starlette") is not None
AREAS = (
    [Area("http service", lambda: SEEDS, check, 0.01, TOKENS, "no answer is an error of the server")]
    if IS_THERE
    else []
)
