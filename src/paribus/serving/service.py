"""A model behind HTTP: requests for single rows are scored together; requests beyond a limit are rejected."""

from __future__ import annotations

import asyncio
import json
import time
import traceback
from collections import deque
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from paribus.detectors.surprise import ConditionalSurprise
from paribus.serving.metrics import Metrics
from paribus.serving.openapi import describe
from paribus.serving.security import Guard, SecurityMiddleware
from paribus.stream.row_types import RowTypes

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

# The maximum number of rows that are scored together: more would delay the first ones.
MAX_TOGETHER = 4_096
# The maximum mean size of a row, in bytes.
ROW_BYTES = 2_000
# Bytes of the bodies of all requests that are being read or answered.
MAX_HELD = 100_000_000
# An explanation takes about as long as this many scores.
EXPLANATION_ROWS = 200
STOP_SECONDS = 30


@dataclass(frozen=True)
class Limits:
    """The limits of a service."""

    max_rows: int = 10_000
    """The maximum number of rows of a request."""
    max_waiting: int = 20_000
    """The maximum number of rows of all waiting requests."""

    @property
    def max_body(self) -> int:
        """The maximum size of a request, in bytes."""
        return 10_000 + ROW_BYTES * self.max_rows

    @property
    def max_held(self) -> int:
        """The maximum number of bytes of all requests that are being read or answered."""
        return max(MAX_HELD, self.max_body)


@dataclass
class Job:
    """Rows that wait to be scored, or one to be explained."""

    rows: list[Any]
    answer: asyncio.Future[Any]
    is_explanation: bool = False
    weight: int = field(init=False)

    def __post_init__(self) -> None:
        self.weight = EXPLANATION_ROWS if self.is_explanation else len(self.rows)


class RefusedError(Exception):
    """A request that is answered with a status and a sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class Queue:
    """Jobs that wait for one thread, which takes all rows that are waiting at once."""

    def __init__(self, work: Callable[[list[Job]], list[Any]], limits: Limits, metrics: Metrics) -> None:
        self._work, self._limits, self._metrics = work, limits, metrics
        self._jobs: deque[Job] = deque()
        self._n_waiting = 0
        self._has_come = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="paribus-score")

    @property
    def is_full(self) -> bool:
        """Whether not even a single row would be taken."""
        return self._n_waiting >= self._limits.max_waiting

    def refuse(self) -> RefusedError:
        """Counts a request that is refused for load. Returns what to raise."""
        self._metrics.n_refused += 1
        return RefusedError(429, "too many rows are waiting: try again in a second")

    async def ask(self, rows: list[Any], *, is_explanation: bool = False) -> Any:
        """The answer for some rows. Raises a RefusedError if too many are waiting."""
        job = Job(rows, asyncio.get_running_loop().create_future(), is_explanation)
        if self._n_waiting + job.weight > self._limits.max_waiting:
            raise self.refuse()
        self._n_waiting += job.weight
        self._metrics.n_waiting = self._n_waiting
        self._jobs.append(job)
        self._has_come.set()
        return await job.answer

    async def run(self) -> None:
        """Works until it is cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            await self._has_come.wait()
            together: list[Job] = [self._jobs.popleft()]
            n_rows = together[0].weight
            while self._jobs and n_rows + self._jobs[0].weight <= MAX_TOGETHER:
                together.append(self._jobs.popleft())
                n_rows += together[-1].weight
            if not self._jobs:
                self._has_come.clear()
            try:
                answers = await loop.run_in_executor(self._thread, self._work, together)
            except Exception:
                # A bug must not block all requests: it is reported, and the next requests are answered.
                traceback.print_exc()
                answers = [RefusedError(500, "an internal error")] * len(together)
            self._n_waiting -= n_rows
            self._metrics.n_waiting = self._n_waiting
            for job, answer in zip(together, answers, strict=True):
                if job.answer.done():
                    continue  # The client has disconnected.
                if isinstance(answer, Exception):
                    job.answer.set_exception(answer)
                else:
                    job.answer.set_result(answer)

    def close(self) -> None:
        """Ends the thread."""
        self._thread.shutdown(wait=False, cancel_futures=True)


class Scorer:
    """Scores and explains the rows of jobs, on the thread of the queue."""

    def __init__(self, detector: ConditionalSurprise) -> None:
        self._detector, self._scorer = detector, detector.scorer()
        self.types = RowTypes(detector)

    def work(self, jobs: list[Job]) -> list[Any]:
        """The answer to each job, or an exception: errors in one do not affect the others."""
        answers: list[Any] = [None] * len(jobs)
        rows: list[dict[str, Any]] = []
        spans: dict[int, slice] = {}
        for place, job in enumerate(jobs):
            try:
                typed = [self._typed(row, number) for number, row in enumerate(job.rows)]
                if job.is_explanation:
                    answers[place] = self._explain(typed[0])
                else:
                    spans[place] = slice(len(rows), len(rows) + len(typed))
                    rows += typed
            except (ValueError, TypeError) as error:
                answers[place] = RefusedError(422, str(error))
        try:
            found = self._score(rows)
        except (ValueError, TypeError) as error:
            if len(spans) > 1:
                for place in spans:
                    answers[place] = self.work([jobs[place]])[0]
                return answers
            for place in spans:
                answers[place] = RefusedError(422, str(error))
            return answers
        for place, span in spans.items():
            answers[place] = found[span]
        return answers

    def _typed(self, row: Any, number: int) -> dict[str, Any]:
        if not isinstance(row, dict):
            raise ValueError(f"row {number} is not an object of columns and values")
        try:
            return self.types.convert(row)
        except ValueError as error:
            raise ValueError(f"row {number}: {error}") from None

    def _score(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        if not rows:
            return []
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        judged = self._scorer.judge(*self._scorer.encode(columns))
        method, names = self._detector.method, self._detector.behavioral_features_
        scores = method.total(judged.partial)
        threshold = self._detector.threshold_
        kinds = [""] * len(scores) if judged.kinds is None else [str(kind) for kind in judged.kinds]
        found = []
        for score, parts, kind in zip(scores.tolist(), judged.partial.tolist(), kinds, strict=True):
            is_scored = score == score
            found.append(
                {
                    "score": score if is_scored else None,
                    "p_value": 10.0**-score if is_scored else None,
                    "label": ("anomaly" if score > threshold else "normal") if is_scored else "not scored",
                    "kind": kind if is_scored else None,
                    "parts": {name: part for name, part in zip(names, parts, strict=True) if part == part},
                }
            )
        return found

    def _explain(self, row: dict[str, Any]) -> dict[str, Any]:
        explanation = self._detector.explain(row)
        found = self._score([row])[0]
        return {**found, "sentence": str(explanation)}


def make_service(detector: ConditionalSurprise, limits: Limits, guard: Guard) -> Starlette:
    """The application, for any ASGI server."""
    try:
        from starlette.applications import Starlette
        from starlette.middleware import Middleware
        from starlette.responses import PlainTextResponse
        from starlette.routing import Route

        from paribus.serving.responses import JsonResponse
    except ModuleNotFoundError:
        raise ValueError("the service needs Starlette and uvicorn: pip install 'paribus[explore]'") from None
    metrics, scorer = Metrics(), Scorer(detector)
    description = describe(scorer.types.kinds, detector.behavioral_features_, limits.max_rows)
    queues: list[Queue] = []
    n_held = 0

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        queue = Queue(scorer.work, limits, metrics)
        queues.append(queue)
        task = asyncio.create_task(queue.run())
        yield
        task.cancel()
        queue.close()

    async def answered(request: Request, answer: Callable[[], Any]) -> Response:
        started = time.perf_counter()
        headers = {}
        try:
            status, found = 200, await answer()
        except RefusedError as refusal:
            status, found = refusal.status, {"error": str(refusal)}
            headers = {"Retry-After": "1"} if status == 429 else {}
        metrics.add(request.url.path, status, time.perf_counter() - started)
        return JsonResponse(found, status, headers)

    @asynccontextmanager
    async def held(request: Request) -> AsyncIterator[None]:
        """Counts the bytes of a request while it is answered. Refuses it before it is read if there are too many."""
        nonlocal n_held
        size = int(request.headers.get("content-length", limits.max_body))
        if queues[-1].is_full or n_held + size > limits.max_held:
            # What is still sent is thrown away, so that the client gets its answer instead of a broken connection.
            async for _ in request.stream():
                pass
            raise queues[-1].refuse()
        n_held += size
        try:
            yield
        finally:
            n_held -= size

    async def score(request: Request) -> Response:
        async def answer() -> Any:
            async with held(request):
                rows, is_one = await _rows_of(request, limits.max_rows)
                found = await queues[-1].ask(rows)
            metrics.n_rows += len(rows)
            metrics.n_flagged += sum(each["label"] == "anomaly" for each in found)
            return found[0] if is_one else {"results": found}

        return await answered(request, answer)

    async def explain(request: Request) -> Response:
        async def answer() -> Any:
            async with held(request):
                rows, _ = await _rows_of(request, 1)
                if not rows:
                    raise RefusedError(422, "there is no row to explain")
                return await queues[-1].ask(rows[:1], is_explanation=True)

        return await answered(request, answer)

    async def health(_: Request) -> Response:
        return JsonResponse({"status": "ok", "method": detector.method.name})

    async def show_metrics(_: Request) -> Response:
        return PlainTextResponse(metrics.text(), media_type="text/plain; version=0.0.4")

    async def openapi(_: Request) -> Response:
        return JsonResponse(description)

    return Starlette(
        routes=[
            Route("/score", score, methods=["POST"]),
            Route("/explain", explain, methods=["POST"]),
            Route("/health", health),
            Route("/metrics", show_metrics),
            Route("/openapi.json", openapi),
        ],
        middleware=[Middleware(SecurityMiddleware, guard=guard)],
        lifespan=lifespan,
    )


async def _rows_of(request: Request, max_rows: int) -> tuple[list[Any], bool]:
    """The rows of a request, and whether it is a single one."""
    try:
        body = json.loads(await request.body())
    except (ValueError, RecursionError):
        raise RefusedError(400, "the request is not JSON") from None
    if isinstance(body, dict) and isinstance(body.get("row"), dict):
        return [body["row"]], True
    rows = body.get("rows") if isinstance(body, dict) else body
    if not isinstance(rows, list):
        raise RefusedError(422, 'give {"row": {...}} or {"rows": [{...}, ...]}')
    if len(rows) > max_rows:
        raise RefusedError(413, f"the request has {len(rows):,} rows, and {max_rows:,} are allowed")
    return rows, False


def serve_until_stopped(app: Starlette, port: int) -> None:
    """Listens on this machine. When stopped, it accepts no more requests and finishes those that it has."""
    try:
        import uvicorn
    except ModuleNotFoundError:
        raise ValueError("the service needs Starlette and uvicorn: pip install 'paribus[explore]'") from None
    uvicorn.run(
        app,
        host="127.0.0.1",
        port=port,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=STOP_SECONDS,
        limit_concurrency=4_096,
        server_header=False,
    )
