"""Responses of the servers."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import JSONResponse


class JsonResponse(JSONResponse):
    r"""JSON in UTF-8, also of text that UTF-8 does not have.

    >>> JsonResponse({"name": "K\u00f6ln"}).body == '{"name":"K\u00f6ln"}'.encode()
    True
    >>> JsonResponse({"name": "\ud800"}).body
    b'{"name":"\\ud800"}'
    """

    def render(self, content: Any) -> bytes:
        """The body."""
        try:
            return super().render(content)
        except UnicodeEncodeError:
            # Half of a surrogate pair, which JSON can spell.
            return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()
