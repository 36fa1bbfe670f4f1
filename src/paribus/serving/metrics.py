"""Metrics of the service, in the text format of Prometheus."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


@dataclass
class Metrics:
    """Counts of requests and rows, and durations of requests."""

    n_rows: int = 0
    n_flagged: int = 0
    n_refused: int = 0
    n_waiting: int = 0
    requests: Counter[tuple[str, int]] = field(default_factory=Counter)
    within: Counter[float] = field(default_factory=Counter)
    seconds: float = 0.0

    def add(self, path: str, status: int, seconds: float) -> None:
        """Counts a request."""
        self.requests[path, status] += 1
        self.seconds += seconds
        for bound in BOUNDS:
            if seconds <= bound:
                self.within[bound] += 1

    def text(self) -> str:
        """Everything, in the text format of Prometheus.

        >>> metrics = Metrics(n_rows=3)
        >>> metrics.add("/score", 200, 0.002)
        >>> print(metrics.text().splitlines()[2])
        paribus_rows_total 3
        """
        lines = [
            *_metric("rows_total", "counter", "Rows scored.", [("", self.n_rows)]),
            *_metric("flagged_rows_total", "counter", "Rows that are anomalies.", [("", self.n_flagged)]),
            *_metric("refused_requests_total", "counter", "Requests rejected because of load.", [("", self.n_refused)]),
            *_metric("waiting_rows", "gauge", "Rows waiting.", [("", self.n_waiting)]),
            *_metric(
                "requests_total",
                "counter",
                "Requests by path and status.",
                [(f'{{path="{path}",status="{status}"}}', n) for (path, status), n in sorted(self.requests.items())],
            ),
        ]
        n_all = sum(self.requests.values())
        lines += _metric("request_seconds", "histogram", "Durations of requests in seconds.", [])
        lines += [f'paribus_request_seconds_bucket{{le="{bound:g}"}} {self.within[bound]}' for bound in BOUNDS]
        lines += [
            f'paribus_request_seconds_bucket{{le="+Inf"}} {n_all}',
            f"paribus_request_seconds_sum {self.seconds:.6f}",
            f"paribus_request_seconds_count {n_all}",
        ]
        return "\n".join(lines) + "\n"


def _metric(name: str, kind: str, text: str, values: list[tuple[str, int]]) -> list[str]:
    return [
        f"# HELP paribus_{name} {text}",
        f"# TYPE paribus_{name} {kind}",
        *[f"paribus_{name}{labels} {value}" for labels, value in values],
    ]
