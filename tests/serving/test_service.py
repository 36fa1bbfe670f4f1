"""The service: scores over HTTP, limits, and what it says of itself."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import numpy as np
import pytest

from paribus.serving.metrics import Metrics
from paribus.serving.security import Guard
from paribus.serving.service import Job, Limits, Queue, RefusedError, Scorer, make_service
from tests.stream.streams import fitted, make_rows, one

GUARD = Guard("secret", frozenset({"127.0.0.1:80"}), public=("/health", "/openapi.json"), max_body=10_000)
HEADERS = {"authorization": "Bearer secret"}


def ask(*requests: tuple[str, str, Any], limits: Limits | None = None) -> list[httpx.Response]:
    """The answers to requests, one after the other."""

    async def run() -> list[httpx.Response]:
        app = make_service(fitted(), limits or Limits(max_rows=20, max_waiting=1000), GUARD)
        found = []
        async with app.router.lifespan_context(app):
            transport = httpx.ASGITransport(app)
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:80") as client:
                for method, path, body in requests:
                    sent = {"content" if isinstance(body, bytes) else "json": body}
                    headers = {**HEADERS, "host": "127.0.0.1:80"}
                    found.append(await client.request(method, path, headers=headers, **sent))
        return found

    return asyncio.run(run())


def test_scores_are_those_of_the_detector() -> None:
    """Tests that single rows and batches have the detector's own scores, and an explanation its sentence."""
    rows = make_rows(30, 5)
    rows["x"][4] = 50.0
    dicts = [one(rows, place) for place in range(5)]
    single, batch, explained = ask(
        ("POST", "/score", {"row": dicts[0]}),
        ("POST", "/score", {"rows": dicts}),
        ("POST", "/explain", {"row": dicts[4]}),
    )
    expected = fitted().anomaly_score(rows)
    assert single.json()["score"] == expected[0]
    assert [each["score"] for each in batch.json()["results"]] == expected.tolist()
    assert batch.json()["results"][4]["label"] == "anomaly"
    assert explained.json()["sentence"] == str(fitted().explain(dicts[4]))


def test_mistakes_are_answered_in_a_sentence() -> None:
    """Tests that bad rows, too many rows and bodies that are too large are refused with their status."""
    row = one(make_rows(31, 1), 0)
    answers = ask(
        ("POST", "/score", {"rows": [row, {**row, "x": "much"}]}),
        ("POST", "/score", {"rows": [row] * 21}),
        ("POST", "/score", {"rows": [{**row, "k": "u" * 20_000}]}),
        ("POST", "/score", {"what": 1}),
        ("GET", "/score", None),
        ("POST", "/score", b"[" * 10_000),
    )
    assert [answer.status_code for answer in answers] == [422, 413, 413, 422, 405, 400]
    assert answers[0].json() == {"error": "row 1: column 'x' holds 'much', which is not a number"}


def test_describes_itself() -> None:
    """Tests that health, metrics and the OpenAPI description say what is true."""
    row = one(make_rows(32, 1), 0)
    _, health, metrics, description = ask(
        ("POST", "/score", {"row": row}),
        ("GET", "/health", None),
        ("GET", "/metrics", None),
        ("GET", "/openapi.json", None),
    )
    assert health.json() == {"status": "ok", "method": "ConditionalSurprise"}
    assert "paribus_rows_total 1\n" in metrics.text
    assert 'paribus_requests_total{path="/score",status="200"} 1\n' in metrics.text
    assert description.json()["components"]["schemas"]["Row"]["required"] == ["a", "b", "k", "x", "y"]


def test_rows_that_come_together_are_scored_together_and_too_many_are_refused() -> None:
    """Tests that jobs that wait are taken as one, and that no more wait than allowed."""
    sizes: list[int] = []

    def work(jobs: list[Job]) -> list[Any]:
        sizes.append(len(jobs))
        return [job.rows for job in jobs]

    async def run() -> tuple[list[Any], Metrics]:
        metrics = Metrics()
        queue = Queue(work, Limits(max_rows=10, max_waiting=30), metrics)
        task = asyncio.create_task(queue.run())
        found = await asyncio.gather(*[queue.ask([number]) for number in range(40)], return_exceptions=True)
        task.cancel()
        queue.close()
        return found, metrics

    found, metrics = asyncio.run(run())
    answered = [each for each in found if not isinstance(each, Exception)]
    assert answered == [[number] for number in range(30)]
    assert all(isinstance(each, RefusedError) and each.status == 429 for each in found[30:])
    assert max(sizes) > 1
    assert (metrics.n_refused, metrics.n_waiting) == (10, 0)


def test_a_bug_does_not_keep_later_requests_waiting(capsys: pytest.CaptureFixture[str]) -> None:
    """Tests that requests after an unexpected error are answered."""

    def work(jobs: list[Job]) -> list[Any]:
        if jobs[0].rows == ["bad"]:
            raise RuntimeError("unexpected")
        return [job.rows for job in jobs]

    async def run() -> Any:
        queue = Queue(work, Limits(), Metrics())
        task = asyncio.create_task(queue.run())
        with pytest.raises(RefusedError):
            await queue.ask(["bad"])
        found = await queue.ask(["good"])
        task.cancel()
        queue.close()
        return found

    assert asyncio.run(run()) == ["good"]
    assert "RuntimeError: unexpected" in capsys.readouterr().err


def test_one_bad_request_does_not_spoil_the_others() -> None:
    """Tests that requests that are scored together each have their own answer."""
    rows = make_rows(33, 2)

    async def run() -> list[Any]:
        loop = asyncio.get_running_loop()
        jobs = [Job([one(rows, 0)], loop.create_future()), Job([{"a": 1}], loop.create_future()),
                Job([one(rows, 1)], loop.create_future())]  # fmt: skip
        return Scorer(fitted()).work(jobs)

    first, bad, last = asyncio.run(run())
    assert isinstance(bad, RefusedError)
    assert np.array_equal([first[0]["score"], last[0]["score"]], fitted().anomaly_score(rows))


def test_a_model_without_column_names_is_refused() -> None:
    """Tests that a service needs names, since JSON has them."""
    from paribus import ConditionalSurprise

    detector = ConditionalSurprise([0], [1], n_trees=2, n_jobs=1).fit(np.random.default_rng(0).normal(size=(60, 2)))
    with pytest.raises(ValueError, match="without column names"):
        make_service(detector, Limits(), GUARD)
