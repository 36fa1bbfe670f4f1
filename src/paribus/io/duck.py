"""DuckDB without network access, and without paths that it would interpret."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_LITERAL = re.compile(r"/[\w./ +,=@%-]*")


@contextmanager
def literal_path(path: Path) -> Iterator[str]:
    """A path that DuckDB takes literally: a link if the path has wildcards, brackets or undecodable bytes."""
    if _LITERAL.fullmatch(str(path)):
        yield str(path)
        return
    with tempfile.TemporaryDirectory(prefix="paribus-") as folder:
        link = os.path.join(folder, "link")
        os.symlink(path, link)
        yield link


def connect(**settings: str) -> DuckDBPyConnection:
    """A connection that never downloads extensions."""
    import duckdb

    never = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
    return duckdb.connect(config={**never, **settings})
