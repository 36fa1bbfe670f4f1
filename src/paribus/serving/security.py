"""Access control for local servers: a middleware that checks every request and hardens every response.

A page of any web site can send requests to a server on this machine, and any name can be made to resolve to it. So a
request must name the server as it is known (Host), must not come from a page of another site (Origin, Sec-Fetch-Site),
must hold the token, and must not be larger than the server takes. What is refused is answered in one sentence.

>>> guard = Guard(token="secret", hosts=local_hosts(8000))
>>> guard.refusal("GET", "/api/rows", {"host": "127.0.0.1:8000", "authorization": "Bearer secret"}) is None
True
>>> guard.refusal("GET", "/api/rows", {"host": "127.0.0.1:8000", "authorization": "Bearer guess"})
(401, 'the token is missing or wrong: use the address or the header that paribus printed at start')
>>> guard.refusal("GET", "/", {"host": "evil.example"})
(403, 'this server is not known by that name')
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
"""The names of this machine for itself."""
MAX_BODY = 1_000_000
"""The default limit of a request's body, in bytes."""

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "font-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
)
"""The content security policy: only what the server itself sends, and no inline scripts or styles."""

HEADERS = {
    "content-security-policy": PAGE_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""Headers of every response that does not set them itself."""

Refusal = tuple[int, str]
"""A status and a sentence."""


def new_token() -> str:
    """A token that cannot be guessed and is safe in a URL."""
    return secrets.token_urlsafe(24)


def local_hosts(port: int) -> frozenset[str]:
    """The names under which a browser on this machine reaches a server on a port of the loopback interface."""
    return frozenset(f"{name}:{port}" for name in LOOPBACK) | (frozenset(LOOPBACK) if port == 80 else frozenset())


@dataclass(frozen=True)
class Guard:
    """The requirements for a request.

    Parameters
    ----------
    token : str or None
        The token that `Authorization: Bearer TOKEN` must have; None if none is required.
    hosts : set of str
        The values of `Host` under which the server is known, with the port.
    public : tuple of str
        Paths that need no token, because they hold no data: the page and its scripts. Those that end in "/" stand for
        everything below them.
    max_body : int
        The maximum size of a request's body, in bytes.
    """

    token: str | None
    hosts: frozenset[str]
    public: tuple[str, ...] = ()
    max_body: int = MAX_BODY

    def refusal(self, method: str, path: str, headers: Mapping[str, str]) -> Refusal | None:
        """The reason to reject a request, or None; the names of headers are in lower case."""
        if headers.get("host", "").lower() not in self.hosts:
            return 403, "this server is not known by that name"
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in {f"http://{host}" for host in self.hosts}:
            return 403, "requests from pages of other sites are refused"
        # "none" is an address that was typed or a link from another program. Pages without data may be linked to.
        site = headers.get("sec-fetch-site", "none")
        if site not in ("same-origin", "none") and not (
            method == "GET" and self.is_public(path) and headers.get("sec-fetch-mode") == "navigate"
        ):
            return 403, "requests from pages of other sites are refused"
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit()):
            return 400, "the length of the request is not a number"
        if len(length) > 15 or int(length) > self.max_body:
            return 413, f"the request is larger than {self.max_body:,} bytes"
        if self.token is not None and not self.is_public(path) and not self._holds_token(headers):
            return 401, "the token is missing or wrong: use the address or the header that paribus printed at start"
        return None

    def is_public(self, path: str) -> bool:
        """Whether a path needs no token."""
        return any(
            path.startswith(each) if each.endswith("/") and each != "/" else path == each for each in self.public
        )

    def _holds_token(self, headers: Mapping[str, str]) -> bool:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        # Compared as bytes, in constant time.
        is_right = secrets.compare_digest(given.strip().encode(), (self.token or "").encode())
        return scheme.lower() == "bearer" and is_right


class SecurityMiddleware:
    """Rejects requests that a guard rejects, and adds security headers to all responses.

    A plain ASGI middleware: `Middleware(SecurityMiddleware, guard=Guard(...))` in an application of Starlette.
    """

    def __init__(self, app: ASGIApp, guard: Guard) -> None:
        self._app, self._guard = app, guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # There are no web sockets: uvicorn closes a connection that is not answered.
        headers = _headers(scope["headers"])
        refusal = (
            (400, "a header is given twice") if headers is None else
            self._guard.refusal(scope["method"], scope["path"], headers)
        )  # fmt: skip
        if refusal is not None:
            await _refuse(refusal, send)
            return
        limited = _Limited(receive, send, self._guard.max_body)
        try:
            await self._app(scope, limited.receive, limited.send)
        except _TooLargeError:
            if not limited.has_started:
                await _refuse((413, f"the request is larger than {self._guard.max_body:,} bytes"), send)


class _TooLargeError(Exception):
    """Raised if the body of a request without a declared length is too large."""


class _Limited:
    """Counts the body of a request, and adds headers to its response."""

    def __init__(self, receive: Receive, send: Send, max_body: int) -> None:
        self._receive, self._send, self._left = receive, send, max_body
        self.has_started = False

    async def receive(self) -> Message:
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            raise _TooLargeError
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.has_started = True
            message = {**message, "headers": hardened(message.get("headers", ()))}
        await self._send(message)


def _headers(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str] | None:
    """The headers by name, or None if one that is checked is given twice: servers disagree about which one is valid."""
    found: dict[str, str] = {}
    for name, value in raw:
        key = name.decode("latin-1").lower()
        if key in found and key in ("host", "origin", "authorization", "content-length", "sec-fetch-site"):
            return None
        found[key] = value.decode("latin-1")
    return found


def hardened(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The headers of a response, with those of `HEADERS` that it lacks."""
    own = [(name.lower(), value) for name, value in headers]
    there = {name for name, _ in own}
    return own + [each for each in _RAW_HEADERS if each[0] not in there]


# Encoded once: they go with every response.
_RAW_HEADERS = tuple((name.encode(), value.encode()) for name, value in HEADERS.items())


async def _refuse(refusal: Refusal, send: Send) -> None:
    status, sentence = refusal
    body = json.dumps({"error": sentence}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": hardened(headers)})
    await send({"type": "http.response.body", "body": body})
