"""`paribus serve`: a model behind HTTP."""

from __future__ import annotations

from pathlib import Path

from paribus._common.threads import resolve_n_jobs
from paribus.cli.messages import note
from paribus.detectors.load import load
from paribus.detectors.surprise import ConditionalSurprise
from paribus.serving.security import Guard, local_hosts, new_token
from paribus.serving.service import Limits, make_service, serve_until_stopped


def run(model: Path, port: int, token: str | None, max_rows: int, max_waiting: int, n_jobs: int) -> None:
    """Serves a model until the process is stopped."""
    if not 1 <= port <= 65_535:
        raise ValueError(f"--port is {port}: it must be from 1 to 65,535")
    if max_rows < 1 or max_waiting < max_rows:
        raise ValueError("--max-rows must be at least 1, and --max-waiting no less than --max-rows")
    detector = load(model)
    if not isinstance(detector, ConditionalSurprise):
        raise ValueError(f"{model.name} holds a {type(detector).__name__}: serve needs a ConditionalSurprise")
    detector.set_params(n_jobs=resolve_n_jobs(n_jobs))
    token = token or new_token()
    limits = Limits(max_rows, max_waiting)
    guard = Guard(token, local_hosts(port), public=("/health", "/openapi.json"), max_body=limits.max_body)
    note(f"serving {model.name} at http://127.0.0.1:{port} until Ctrl-C")
    note(f"each request must have the header Authorization: Bearer {token}")
    serve_until_stopped(make_service(detector, limits, guard), port)
