"""A load test of `paribus serve` on the loopback: single rows, batches, and far more than it can hold.

Clients and service share the machine, so the rate is also given per second of the service's own processor time, which a
busy machine does not change. At overload, every request must be answered, with 200 or 429.

The result is benchmarks/service.json, and a part of docs/results/streams.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from paper.markdown import header, rewrite_part, row

from paribus import ConditionalSurprise

HERE = Path(__file__).parent
RESULTS = HERE / "service.json"
PAGE = HERE.parent / "docs" / "results" / "streams.md"
TOKEN = "load-test"


def make_rows(n: int, seed: int) -> list[dict[str, Any]]:
    """Rows with three contextual and three behavioral columns."""
    random = np.random.default_rng(seed)
    a, b, c = random.uniform(size=(3, n))
    values = {"a": a, "b": b, "c": c, "x": 3 * a + random.normal(size=n), "y": b - c + random.normal(size=n),
              "z": random.normal(size=n)}  # fmt: skip
    return [{name: float(column[place]) for name, column in values.items()} for place in range(n)]


def processor_seconds(pid: int) -> float:
    """The processor time of a process and its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_memory(pid: int) -> float:
    """The most memory that a process had, in MB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


class Client(asyncio.Protocol):
    """Sends requests one after the other over one connection; as cheap as possible, since it shares the machine."""

    def __init__(self, port: int, bodies: list[bytes], waits: list[float], statuses: Counter[str]) -> None:
        self._head = f"POST /score HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {TOKEN}\r\n"
        self._bodies, self._waits, self._statuses = iter(bodies), waits, statuses
        self._received, self._length = b"", -1
        self.is_done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Sends the first request."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._send()

    def _send(self) -> None:
        body = next(self._bodies, None)
        if body is None:
            self._transport.close()
            return
        self._received, self._length, self._start = b"", -1, time.perf_counter()
        head = f"{self._head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        self._transport.write(head.encode() + body)

    def data_received(self, data: bytes) -> None:
        """Sends the next request when an answer is complete."""
        self._received += data
        if self._length < 0 and (end := self._received.find(b"\r\n\r\n")) >= 0:
            head = self._received[:end].lower()
            self._length = end + 4 + int(head.split(b"content-length:")[1].split(b"\r\n")[0])
        if 0 <= self._length <= len(self._received):
            self._waits.append(time.perf_counter() - self._start)
            self._statuses[self._received[9:12].decode()] += 1
            self._send()

    def connection_lost(self, exc: Exception | None) -> None:
        """Ends; requests that were not answered are lost."""
        self.is_done.set_result(None)


async def client(port: int, bodies: list[bytes], waits: list[float], statuses: Counter[str]) -> None:
    """Sends requests, and waits until all are answered."""
    loop = asyncio.get_running_loop()
    _, made = await loop.create_connection(lambda: Client(port, bodies, waits, statuses), "127.0.0.1", port)
    await made.is_done


def measure(name: str, pid: int, port: int, n_clients: int, n_requests: int, size: int) -> dict[str, Any]:
    """Sends requests from many clients at once."""
    rows = make_rows(max(size, 200), 1)
    if size == 1:
        made = [json.dumps({"row": each}).encode() for each in rows]
        bodies = [[made[(place * 7 + k) % len(made)] for k in range(n_requests)] for place in range(n_clients)]
    else:
        bodies = [[json.dumps({"rows": rows[:size]}).encode()] * n_requests] * n_clients
    waits: list[float] = []
    statuses: Counter[str] = Counter()

    async def run() -> None:
        await asyncio.gather(*[client(port, each, waits, statuses) for each in bodies])

    used, start = processor_seconds(pid), time.perf_counter()
    asyncio.run(run())
    seconds, used = time.perf_counter() - start, processor_seconds(pid) - used
    n_rows = statuses["200"] * size
    sent = n_clients * n_requests * size
    found = {
        "name": name,
        "clients": n_clients,
        "rows_per_request": size,
        "requests": n_clients * n_requests,
        "answered": sum(statuses.values()),
        "statuses": dict(statuses),
        "rows_sent_per_second": sent / seconds,
        "rows_per_second": n_rows / seconds,
        "rows_per_processor_second": n_rows / used if used else None,
        "cores": used / seconds,
        "p50_ms": 1e3 * float(np.quantile(waits, 0.5)),
        "p99_ms": 1e3 * float(np.quantile(waits, 0.99)),
        "memory_mb": peak_memory(pid),
    }
    print(found, flush=True)
    return found


def page_part(results: dict[str, Any]) -> list[str]:
    """The table of the page."""
    names = [
        "load",
        "rows sent per s",
        "scored per s",
        "per s of its processor time",
        "cores it had",
        "p50, ms",
        "p99, ms",
    ]
    lines = header([*names, "200", "429", "lost", "memory, MB"])
    for each in results["loads"]:
        lost = each["requests"] - each["answered"]
        lines.append(
            row(
                [
                    f"{each['name']}: {each['clients']} clients, {each['rows_per_request']} rows per request",
                    f"{each['rows_sent_per_second']:,.0f}",
                    f"{each['rows_per_second']:,.0f}",
                    f"{each['rows_per_processor_second'] or 0:,.0f}",
                    f"{each['cores']:.2f}" if "cores" in each else "",
                    f"{each['p50_ms']:,.0f}",
                    f"{each['p99_ms']:,.0f}",
                    f"{each['statuses'].get('200', 0):,}",
                    f"{each['statuses'].get('429', 0):,}",
                    str(lost),
                    f"{each['memory_mb']:,.0f}",
                ]
            )
        )
    busy = results["load_of_the_machine"]
    return [*lines, "", f"The machine had two cores and a load of {busy:.0f} besides (1 would be one busy core)."]


def main() -> None:
    """Starts the service, measures, and writes the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", action="store_true", help="only write the page from the results")
    parser.add_argument("--port", type=int, default=8399)
    parser.add_argument("--scale", type=float, default=1.0, help="how many requests, as a share")
    given = parser.parse_args()
    if not given.page:
        table = make_rows(3_000, 0)
        columns = {name: [each[name] for each in table] for name in table[0]}
        detector = ConditionalSurprise(["a", "b", "c"], ["x", "y", "z"], random_state=0).fit(columns)
        load = os.getloadavg()[0]
        with tempfile.TemporaryDirectory() as folder:
            model = Path(folder) / "load.paribus"
            detector.save(model)
            command = [sys.executable, "-m", "paribus", "serve", str(model), "--port", str(given.port)]
            command += ["--token", TOKEN, "--max-waiting", "4000", "--max-rows", "2000"]
            service = subprocess.Popen(command, stderr=subprocess.DEVNULL)
            try:
                _wait(given.port)
                n = given.scale
                loads = [
                    measure("single rows", service.pid, given.port, 64, max(1, int(100 * n)), 1),
                    measure("batches", service.pid, given.port, 4, max(1, int(20 * n)), 1_000),
                    measure("overload", service.pid, given.port, 40, max(1, int(25 * n)), 1_000),
                    measure("many clients", service.pid, given.port, 1_000, max(1, int(20 * n)), 1),
                    measure("afterwards", service.pid, given.port, 64, max(1, int(50 * n)), 1),
                ]
            finally:
                service.terminate()
                service.wait()
        results = {"load_of_the_machine": load, "loads": loads}
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    rewrite_part(PAGE, "service", page_part(json.loads(RESULTS.read_text(encoding="utf-8"))))


def _wait(port: int) -> None:
    import httpx

    for _ in range(600):
        try:
            if httpx.get(f"http://127.0.0.1:{port}/health").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.2)
    raise RuntimeError("the service does not start")


if __name__ == "__main__":
    main()
