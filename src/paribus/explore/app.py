"""The routes of the explorer: requests are parsed here, and answered by the session."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from functools import wraps
from importlib.resources import files
from typing import Any

import numpy as np
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from paribus.detectors.teaching import WAYS
from paribus.explain.known import STATUSES
from paribus.explore.folder import REPORT, TABLE
from paribus.explore.jobs import sentence
from paribus.explore.one_row import one_row
from paribus.explore.reported import Reported, one_reported_row
from paribus.explore.requests import choice, number, plain_json, text
from paribus.explore.score_map import score_map
from paribus.explore.session import Session
from paribus.explore.take_away import MAKERS, REFITS, fits_anew, make, python_script, shell_command
from paribus.explore.what_if import what_if
from paribus.serving.responses import JsonResponse
from paribus.serving.security import Guard, SecurityMiddleware

PAGE_FILES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/static/app.js": ("app.js", "text/javascript; charset=utf-8"),
    "/static/app.css": ("app.css", "text/css; charset=utf-8"),
    "/static/icon.svg": ("icon.svg", "image/svg+xml"),
}
"""The files of the page; none of them holds data."""
PUBLIC = ("/", "/static/")
# How long a request for the next state waits, and how often it checks, in seconds.
LONGEST_WAIT, STEP = 20.0, 0.05

Fields = dict[str, Any]
Work = Callable[[Session, Fields], Any]


def create_app(session: Session, guard: Guard) -> Starlette:
    """The application."""

    async def state(request: Request) -> Response:
        """The state, as soon as it differs from the one that the page has."""
        since = request.query_params.get("since", "")
        share = request.query_params.get("share", "")
        waited = 0.0
        while waited < LONGEST_WAIT and since == str(session.version) and share == _share(session):
            await asyncio.sleep(STEP)
            waited += STEP
            if await request.is_disconnected():
                break
        if since == str(session.version):
            return JsonResponse(plain_json({"version": session.version, "job": session.progress()}))
        return JsonResponse(plain_json(await run_in_threadpool(session.state)))

    async def page(request: Request) -> Response:
        name, kind = PAGE_FILES[request.url.path]
        return Response((files("paribus.explore") / "static" / name).read_bytes(), media_type=kind)

    async def take_away(request: Request) -> Response:
        fields = await _read(request)

        def work() -> Any:
            return make(choice(fields, "what", list(MAKERS)), session.taught(), session.origin())

        made = await run_in_threadpool(work)
        headers = {"content-disposition": "attachment", "x-file-name": json.dumps(made.name)}
        return Response(made.content, media_type=made.kind, headers=headers)

    routes = [Route(path, page, methods=["GET"]) for path in PAGE_FILES]
    routes.append(Route("/api/state", _answering(state), methods=["GET"]))
    routes.append(Route("/api/take-away", _answering(take_away), methods=["POST"]))
    for path, work in WORKS.items():
        routes.append(Route(f"/api/{path}", _answering(_endpoint(session, work)), methods=["POST"]))
    return Starlette(routes=routes, middleware=[Middleware(SecurityMiddleware, guard=guard)])


def _share(session: Session) -> str:
    """The progress, as a text that changes no more often than the bar."""
    job = session.progress()
    if job is None:
        return ""
    return f"{job['what']}{'' if job['share'] is None else int(100 * job['share'])}"


def _endpoint(session: Session, work: Work) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        fields = await _read(request)
        return JsonResponse(plain_json(await run_in_threadpool(work, session, fields) or {}))

    return endpoint


def _answering(endpoint: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint that answers user errors with one sentence."""

    @wraps(endpoint)
    async def answering(request: Request) -> Response:
        try:
            return await endpoint(request)
        except MemoryError:
            return JsonResponse({"error": "There is not enough memory for this."}, 400)
        except (ValueError, TypeError, OSError) as error:
            return JsonResponse({"error": sentence(error)}, 400)

    return answering


async def _read(request: Request) -> Fields:
    try:
        fields = json.loads(await request.body() or b"{}")
    except (ValueError, RecursionError):
        raise ValueError("the request is not valid JSON") from None
    if not isinstance(fields, dict):
        raise ValueError("the request is not a JSON object")
    return fields


def _files(session: Session, fields: Fields) -> Fields:
    return {"files": session.folder.files()}


def _open(session: Session, fields: Fields) -> None:
    session.open(session.folder.find(text(fields, "file")))


def _roles(session: Session, fields: Fields) -> None:
    session.set_roles(_object(fields, "roles"))


def _parameters(session: Session, fields: Fields) -> None:
    session.set_parameters(_object(fields, "parameters"))


def _show(session: Session, fields: Fields) -> None:
    chosen = [fields.get(name) for name in ("number", "compared")]
    if not all(each is None or (isinstance(each, int) and not isinstance(each, bool)) for each in chosen):
        raise ValueError("the number of a result must be a whole number")
    session.show(chosen[0], chosen[1])


def _rows(session: Session, fields: Fields) -> Fields:
    begin, n = int(number(fields, "begin", 0)), int(number(fields, "n", 50))
    return session.listing(_object(fields, "filter")).window(max(0, begin), max(0, n))


def _place(session: Session, fields: Fields) -> Fields:
    """Where a row is in the list."""
    rows = session.listing(_object(fields, "filter")).rows
    found = np.flatnonzero(rows == _row(session, fields))
    return {"place": int(found[0]) if found.size else None}


def _map(session: Session, fields: Fields) -> Fields:
    listing = session.listing(_object(fields, "filter"))
    return score_map(listing, session.axis(text(fields, "x")), session.axis(text(fields, "y")))


def _one_row(session: Session, fields: Fields) -> Fields:
    taught, row = session.taught(), _row(session, fields)
    if isinstance(taught.result, Reported):
        return one_reported_row(taught, taught.result, row)
    return one_row(taught, taught.result.fitted(), row)


def _what_if(session: Session, fields: Fields) -> Fields:
    values = _object(fields, "values")
    left_out = fields.get("left_out", [])
    if not isinstance(left_out, list) or not all(isinstance(each, str) for each in left_out):
        raise ValueError("left_out must be a list of columns")
    given = {name: text(values, name) for name in values}
    return what_if(session.taught().result.fitted(), _row(session, fields), given, left_out)


def _answer(session: Session, fields: Fields) -> Fields:
    status, note = choice(fields, "status", STATUSES), text(fields, "note", "")
    if "row" in fields:
        return session.answer(status, note, _row(session, fields), None)
    return session.answer(status, note, None, text(fields, "rule"))


def _next(session: Session, fields: Fields) -> Fields:
    return {"row": session.taught().teaching.next_row(choice(fields, "how", WAYS))}


def _words(session: Session, fields: Fields) -> Fields:
    taught, origin = session.taught(), session.origin()
    if origin.kind == REPORT:
        return {"script": "", "command": "", "note": ""}
    note = REFITS if origin.kind == TABLE and fits_anew(taught) else ""
    return {"script": python_script(taught, origin), "command": shell_command(taught, origin), "note": note}


def _object(fields: Fields, name: str) -> Fields:
    found = fields.get(name, {})
    if not isinstance(found, dict):
        raise ValueError(f"{name} must be an object")
    return found


def _row(session: Session, fields: Fields) -> int:
    row = number(fields, "row")
    if row != int(row):
        raise ValueError("row must be a whole number")
    return session.check_row(int(row))


WORKS: dict[str, Work] = {
    "files": _files,
    "open": _open,
    "roles": _roles,
    "parameters": _parameters,
    "fit": lambda session, fields: session.fit(),
    "cancel": lambda session, fields: session.cancel(),
    "dismiss": lambda session, fields: session.dismiss(),
    "show": _show,
    "rows": _rows,
    "place": _place,
    "map": _map,
    "row": _one_row,
    "what-if": _what_if,
    "answer": _answer,
    "take-back": lambda session, fields: session.take_back(int(number(fields, "place"))),
    "undo": lambda session, fields: {"undone": session.undo()},
    "rule": lambda session, fields: session.count_rule(text(fields, "rule")),
    "next": _next,
    "words": _words,
}
"""The endpoints below /api."""
