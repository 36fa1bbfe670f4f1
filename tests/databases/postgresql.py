"""Finds a PostgreSQL server for the tests of databases. Run as a script, installs Debian's if there is none."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.system_packages import provide

USER, PASSWORD, DATABASE = "tester", "s3cret word", "weather"
ADVICE = "install PostgreSQL, or set PARIBUS_POSTGRESQL to the folder of its programs"


def find_postgresql() -> Path | None:
    """The folder of the server's programs; None if there is none."""
    if named := os.environ.get("PARIBUS_POSTGRESQL"):
        return Path(named) if (Path(named) / "initdb").exists() else None
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name), reverse=True)
    on_path = [Path(os.path.realpath(found)).parent for found in [shutil.which("initdb")] if found]
    return next((path for path in (*on_path, *debian) if (path / "initdb").exists()), None)


@contextmanager
def server(programs: Path) -> Iterator[str]:
    """Runs a new server that can be reached by a socket in a folder only. Yields its SQLAlchemy URL."""
    # As root, which PostgreSQL refuses to run as, the account that its package makes is used.
    account: dict[str, Any] = {"user": "postgres", "group": "postgres"} if os.geteuid() == 0 else {}
    # Names of sockets must be short.
    place = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))
    data, secret = place / "data", place / "password"
    secret.write_text(PASSWORD)
    if account:
        shutil.chown(place, "postgres", "postgres")
        shutil.chown(secret, "postgres", "postgres")
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": place, **account}
    settings = ["--auth=scram-sha-256", f"--pwfile={secret}", "--encoding=UTF8", "--locale=C", "--no-sync"]
    process = None
    try:
        subprocess.run([programs / "initdb", "-D", data, "-U", USER, *settings], check=True, **quiet)
        options = ["listen_addresses=", f"unix_socket_directories={place}", "fsync=off", "timezone=America/New_York"]
        command = [str(programs / "postgres"), "-D", str(data), *(part for each in options for part in ("-c", each))]
        process = subprocess.Popen(command, **quiet)
        address = f"postgresql+psycopg://{USER}:{PASSWORD.replace(' ', '%20')}@/{{}}?host={place}"
        _wait_for(address.format("postgres"))
        yield address.format(DATABASE)
    finally:
        if process is not None:
            process.send_signal(signal.SIGINT)
            process.wait(30)
        shutil.rmtree(place, ignore_errors=True)


def _wait_for(address: str) -> None:
    """Waits until the server answers, and makes the database."""
    import sqlalchemy

    engine = sqlalchemy.create_engine(address, isolation_level="AUTOCOMMIT")
    for attempt in range(600):
        try:
            with engine.connect() as connection:
                connection.execute(sqlalchemy.text(f"CREATE DATABASE {DATABASE}"))
            break
        except sqlalchemy.exc.OperationalError:
            if attempt == 599:
                raise
            time.sleep(0.05)
    engine.dispose()


if __name__ == "__main__":
    sys.exit(provide("PostgreSQL", find_postgresql, "postgresql", "the tests of databases", ADVICE))
