"""Runs the command that was typed: signals, exit codes, and errors on one line."""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
from copy import copy
from functools import cache
from typing import Any, NoReturn

import typer
import typer.main

from paribus.cli.app import app, settings
from paribus.cli.streams import forget, forget_all, open_closed_streams, terminals

# User errors. Any other exception is a bug, and its traceback is shown.
MISTAKES = (ValueError, TypeError, OSError, MemoryError)
NO_ROOM = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EBADF)
INTERRUPTED = 128 + signal.SIGINT
# click's UsageError: older versions of typer import click, newer ones include a copy of it, and this finds either.
USAGE_ERROR: Any = typer.BadParameter.__mro__[2]


def main() -> None:
    """Runs the command that was typed. User errors are one line on standard error."""
    settings.debug = False
    open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        # A character that the terminal cannot show must not stop the command.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    shown_on = terminals()

    def end(number: int, _: object) -> None:
        if number == signal.SIGHUP:
            # The terminal is closed: a progress bar that ends must not end the command in another way.
            forget_all(shown_on)
        sys.exit(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        # A terminated run cleans up after itself. Signals that are ignored, as with nohup, stay ignored.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, end)
    try:
        code = _command()(sys.argv[1:] or ["--help"], prog_name="paribus", standalone_mode=False)
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:
        _exit_for_broken_pipe()
    except SystemExit as stop:
        # typer turns a broken pipe into an exit.
        if isinstance(stop.__context__, BrokenPipeError):
            _exit_for_broken_pipe()
        raise
    except USAGE_ERROR as error:
        context = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "paribus"
        _stop(f"{error.format_message().rstrip('.')}; see {command} --help", 2)
    except MISTAKES as error:
        if settings.debug:
            raise
        if isinstance(error, OSError) and error.errno in NO_ROOM and error.filename is None:
            # Errors about other files name the file already.
            forget(sys.stdout)
            _stop(f"cannot write to standard output: {_reason(error)}", 2)
        _stop(_reason(error), 2)
    if code == INTERRUPTED:
        _stop("interrupted", INTERRUPTED)
    sys.exit(code if isinstance(code, int) else 0)


@cache
def _command() -> Any:
    """The main command, made once in a process. Adds `--debug` to each subcommand."""
    top = typer.main.get_command(app)
    debug = copy(next(option for option in top.params if option.name == "debug"))
    debug.expose_value = False
    groups: list[Any] = [top]
    while groups:
        for command in groups.pop().commands.values():
            command.params.append(debug)
            if hasattr(command, "commands"):
                groups.append(command)
    return top


def _exit_for_broken_pipe() -> NoReturn:
    """Exits silently, as other programs do when the reader of their output is gone."""
    forget(sys.stdout)
    os._exit(128 + signal.SIGPIPE)


def _reason(error: Exception) -> str:
    if isinstance(error, MemoryError) and not str(error):
        return "there is not enough memory for this table: add --memory to read it in batches, or choose fewer columns"
    if isinstance(error, OSError) and error.errno == errno.EBADF:
        return "it is closed"
    if isinstance(error, OSError) and error.errno is not None:
        name = f"{error.filename}: " if error.filename is not None else ""
        return f"{name}{(error.strerror or str(error)).lower()}"
    from paribus.cli.messages import in_shell_words

    return in_shell_words(str(error)) or type(error).__name__


def _stop(message: str, code: int) -> NoReturn:
    from paribus.cli.messages import note

    note(message)
    sys.exit(code)
