"""Who may talk to a local server."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from paribus.serving.security import Guard, SecurityMiddleware, local_hosts, new_token
from tests.support.asgi import Client

HOST = "127.0.0.1:8000"
TOKEN = "right"


async def data(request: Request) -> PlainTextResponse:
    return PlainTextResponse(str(len(await request.body())))


@pytest.fixture(scope="module")
def client() -> Client:
    guard = Guard(TOKEN, local_hosts(8000), public=("/", "/static/"), max_body=1000)
    routes = [Route(path, data, methods=["GET", "POST"]) for path in ("/", "/static/page.js", "/api/rows")]
    app = Starlette(routes=routes, middleware=[Middleware(SecurityMiddleware, guard=guard)])
    return Client(app, f"http://{HOST}")


WITH_TOKEN = {"authorization": f"Bearer {TOKEN}"}


def test_the_right_token_opens_everything(client: Client) -> None:
    """Tests that the page needs no token, and that data is sent to those who have it."""
    assert client.get("/").status_code == client.get("/static/page.js").status_code == 200
    assert client.get("/api/rows", headers=WITH_TOKEN).status_code == 200


@pytest.mark.parametrize(
    "authorization",
    [None, "", "Bearer", "Bearer wrong", f"Basic {TOKEN}", "Bearer right2", b"Bearer \xfc"],
)
def test_a_wrong_token_is_refused(client: Client, authorization: str | bytes | None) -> None:
    """Tests that data is refused without the token, in one sentence that says where to find it."""
    headers = {} if authorization is None else {b"authorization": authorization}
    answer = client.get("/api/rows", headers=headers)
    assert answer.status_code == 401
    assert "the address or the header that paribus printed" in answer.json()["error"]


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},  # a name that was made to resolve to this machine
        {"host": "evil.example:8000"},
        {"host": "127.0.0.1:9000"},
        {"origin": "http://evil.example"},
        {"origin": "https://127.0.0.1:8000"},
        {"origin": "http://127.0.0.1:9000"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},  # another port of this machine
    ],
)
def test_other_sites_are_refused(client: Client, headers: dict[str, str]) -> None:
    """Tests that pages of other sites, other ports and other names get nothing, even with the token."""
    assert client.get("/api/rows", headers={**WITH_TOKEN, **headers}).status_code == 403
    assert client.post("/api/rows", headers={**WITH_TOKEN, **headers}).status_code == 403


def test_the_page_can_be_linked_to(client: Client) -> None:
    """Tests that a link from elsewhere opens the page, which holds no data, but cannot embed it."""
    from_elsewhere = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert client.get("/", headers=from_elsewhere).status_code == 200
    assert client.get("/static/page.js", headers={**from_elsewhere, "sec-fetch-mode": "no-cors"}).status_code == 403


async def chunks(size: int) -> AsyncIterator[bytes]:
    for _ in range(size // 100):
        yield b"x" * 100


def test_large_requests_are_refused(client: Client) -> None:
    """Tests that a body is refused above the limit, whether the request says its length or not."""
    assert client.post("/api/rows", content=b"x" * 1000, headers=WITH_TOKEN).text == "1000"
    assert client.post("/api/rows", content=b"x" * 1001, headers=WITH_TOKEN).status_code == 413
    assert client.post("/api/rows", content=chunks(1000), headers=WITH_TOKEN).text == "1000"
    assert client.post("/api/rows", content=chunks(2000), headers=WITH_TOKEN).status_code == 413
    assert client.post("/api/rows", headers={**WITH_TOKEN, "content-length": "1e3"}).status_code == 400


@pytest.mark.parametrize("path", ["/", "/api/rows", "/nothing"])
def test_every_response_is_hardened(client: Client, path: str) -> None:
    """Tests that responses, refusals included, allow no scripts but the server's own, no frames and no guessing."""
    headers = client.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


def test_tokens_are_long_and_differ() -> None:
    """Tests that tokens hold at least 128 random bits."""
    assert len({new_token() for _ in range(10)}) == 10
    assert all(len(new_token()) >= 22 for _ in range(10))
