"""Sessions of the explorer in tests: a small table, and a client that has the token."""

from __future__ import annotations

import csv
import time
from pathlib import Path
from typing import Any

import numpy as np

from paribus.explore.app import PUBLIC, create_app
from paribus.explore.folder import Folder
from paribus.explore.session import Session
from paribus.serving.security import Guard, local_hosts
from tests.support.asgi import Client

TOKEN = "right"
ROLES = {"stone": "id", "carat": "context", "cut": "context", "x": "behavior", "z": "behavior", "day": "none"}
QUICK = {"n_trees": 16}


def write_stones(path: Path, n: int = 1500, n_zero: int = 6) -> Path:
    """A table of stones whose sizes follow their weight, some with a size of 0; and some that are too wide."""
    random = np.random.default_rng(0)
    carat = random.uniform(0.3, 2.0, n)
    x, z = 6.5 * np.cbrt(carat), 4.0 * np.cbrt(carat)
    x, z = (size * random.normal(1.0, 0.01, n) for size in (x, z))
    z[20 : 20 + n_zero] = 0.0
    x[[3, 4, 5]] *= 1.4
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["stone", "carat", "cut", "x", "z", "day"])
        for row in range(n):
            day = np.datetime64("2026-01-01") + row
            cut = ["Fair", "Good", "Ideal"][row % 3]
            writer.writerow([f"S{row:04}", f"{carat[row]:.3f}", cut, f"{x[row]:.3f}", f"{z[row]:.3f}", day])
    return path


def wait(session: Session) -> None:
    """Waits until nothing is being computed."""
    end = time.monotonic() + 60
    while session.progress() is not None:
        assert time.monotonic() < end, "the work takes too long"
        time.sleep(0.01)


class Explorer:
    """A session, and requests to it."""

    def __init__(self, folder: Path) -> None:
        self.session = Session(Folder(folder), n_jobs=1)
        guard = Guard(TOKEN, local_hosts(80), PUBLIC)
        self.client = Client(create_app(self.session, guard), "http://127.0.0.1", {"authorization": f"Bearer {TOKEN}"})

    def ask(self, path: str, code: int = 200, /, **fields: Any) -> Any:
        answer = self.client.post(f"/api/{path}", json=fields)
        assert answer.status_code == code, answer.text
        return answer.json()

    def error(self, path: str, **fields: Any) -> str:
        """The sentence with which a request is refused."""
        found: str = self.ask(path, 400, **fields)["error"]
        assert found.count("\n") == 0
        return found

    def state(self) -> Any:
        return self.client.get("/api/state").json()

    def open(self, name: str) -> None:
        self.ask("open", file=name)
        wait(self.session)

    def fit(self, **roles: str) -> None:
        self.ask("roles", roles=roles)
        self.ask("parameters", parameters=QUICK)
        self.ask("fit")
        wait(self.session)
