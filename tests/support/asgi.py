"""Requests to an application without a network: Starlette's own client wants a package of its own."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx


class Client:
    """Sends requests to an ASGI application, one at a time."""

    def __init__(self, app: Any, base_url: str, headers: dict[str, str] | None = None) -> None:
        self._app, self._base_url, self._headers = app, base_url, headers or {}

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(app=self._app)
            async with httpx.AsyncClient(transport=transport, base_url=self._base_url, headers=self._headers) as client:
                return await client.request(method, path, **options)

        return asyncio.run(send())

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.request("GET", path, **options)

    def post(self, path: str, **options: Any) -> httpx.Response:
        return self.request("POST", path, **options)
