"""Runs the explorer on this machine."""

from __future__ import annotations

import socket
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path

import uvicorn

from paribus.explore.app import PUBLIC, create_app
from paribus.explore.folder import Folder
from paribus.explore.session import Session
from paribus.serving.security import Guard, local_hosts, new_token

LOOPBACK = "127.0.0.1"
# How long requests may take to finish when the explorer is stopped, in seconds.
GRACE = 1


def run(
    file: Path | None, known: Path | None, port: int, n_jobs: int, opens_browser: bool, note: Callable[[str], object]
) -> None:
    """Serves the page until Ctrl-C. `note` is called with its address."""
    folder = Folder(Path.cwd() if file is None else file.resolve().parent)
    session = Session(folder, known, n_jobs)
    token = new_token()
    with listen(port) as listener:
        server = make_server(session, listener, token)
        if file is not None:
            session.open(file.resolve())
        address = f"http://{LOOPBACK}:{listener.getsockname()[1]}/#{token}"
        note(f"the explorer is at {address} (Ctrl-C stops it)")
        if opens_browser:
            # Opening may block until the browser has started.
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        try:
            server.run(sockets=[listener])
        except KeyboardInterrupt:
            # Ctrl-C is the normal way to stop it.
            pass
        finally:
            session.stop()
    if session.answers_file is not None:
        note(f"stopped; your answers are in {session.answers_file}")
    else:
        note("stopped")


def make_server(session: Session, listener: socket.socket, token: str) -> uvicorn.Server:
    """A server on a socket, for clients with the token."""
    guard = Guard(token, local_hosts(listener.getsockname()[1]), PUBLIC)
    return uvicorn.Server(
        uvicorn.Config(
            create_app(session, guard),
            log_level="error",
            access_log=False,
            server_header=False,
            lifespan="off",
            timeout_graceful_shutdown=GRACE,
        )
    )


def listen(port: int) -> socket.socket:
    """A socket of the loopback interface: no other machine can reach it."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((LOOPBACK, port))
        # From now on connections wait until the server is ready, instead of being refused: the browser may be faster.
        listener.listen()
    except OverflowError:
        listener.close()
        raise ValueError(f"--port is {port}: it must be from 1024 to 65535, or 0 for any free port") from None
    except OSError as error:
        listener.close()
        raise ValueError(f"cannot listen at port {port} ({error.strerror}): choose another one with --port") from None
    return listener
