"""The description of the service in OpenAPI 3.1."""

from __future__ import annotations

from typing import Any

TYPES: dict[str, dict[str, Any]] = {
    "number": {"type": ["number", "null"]},
    "category": {"type": ["string", "number", "boolean", "null"]},
    "timestamp": {"type": ["string", "null"], "format": "date-time"},
}
PROBLEMS = {
    "400": "The request is not JSON.",
    "401": "The token is missing or wrong.",
    "413": "The request is too large.",
    "422": "A row cannot be used.",
    "429": "Too many rows are waiting: try again.",
}


def describe(kinds: dict[str, str], behavior: list[str], max_rows: int) -> dict[str, Any]:
    """The description, given the columns that rows must have and their kinds."""
    row = {
        "type": "object",
        "required": list(kinds),
        "properties": {name: TYPES[kind] for name, kind in kinds.items()},
    }
    parts = {"type": "object", "properties": {name: {"type": "number"} for name in behavior}}
    result = {
        "type": "object",
        "properties": {
            "score": {"type": ["number", "null"], "description": "Minus the decimal logarithm of p_value."},
            "p_value": {"type": ["number", "null"], "description": "The probability of a row at least as strange."},
            "label": {"enum": ["anomaly", "normal", "not scored"]},
            "kind": {"enum": ["whole", "combination", "value", None]},
            "parts": parts,
        },
    }
    explained = {"allOf": [_ref("Result"), {"type": "object", "properties": {"sentence": {"type": "string"}}}]}
    one = {"type": "object", "required": ["row"], "properties": {"row": _ref("Row")}}
    many = {
        "type": "object",
        "required": ["rows"],
        "properties": {"rows": {"type": "array", "maxItems": max_rows, "items": _ref("Row")}},
    }
    results = {"type": "object", "properties": {"results": {"type": "array", "items": _ref("Result")}}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "paribus", "version": "1", "description": "Scores rows given their context."},
        "security": [{"token": []}],
        "paths": {
            "/score": {"post": _post("Score rows.", {"oneOf": [one, many]}, {"oneOf": [_ref("Result"), results]})},
            "/explain": {"post": _post("Explain the score of a row.", one, explained)},
            "/health": {"get": _get("Whether the service is up.", "application/json", public=True)},
            "/metrics": {"get": _get("Counts, in the text format of Prometheus.", "text/plain")},
            "/openapi.json": {"get": _get("This description.", "application/json", public=True)},
        },
        "components": {
            "schemas": {"Row": row, "Result": result},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _post(text: str, body: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    problems = {status: {"description": sentence} for status, sentence in PROBLEMS.items()}
    return {
        "summary": text,
        "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
        "responses": {
            "200": {"description": "Done.", "content": {"application/json": {"schema": answer}}},
            **problems,
        },
    }


def _get(text: str, media: str, *, public: bool = False) -> dict[str, Any]:
    found: dict[str, Any] = {"summary": text, "responses": {"200": {"description": "Done.", "content": {media: {}}}}}
    return {**found, "security": []} if public else found
