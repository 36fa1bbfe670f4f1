"""`paribus explore`: the explorer on this machine."""

from __future__ import annotations

from pathlib import Path

from paribus._common.atomic_files import check_writable
from paribus.cli.messages import note
from paribus.cli.signals import loading
from paribus.explain.known import read_known
from paribus.methods.parameters import check_parameters


def explore(file: Path | None, known: Path | None, port: int, n_jobs: int, opens_browser: bool) -> None:
    """Serves the explorer until Ctrl-C."""
    check_parameters({"n_jobs": n_jobs})
    if file is not None and not file.is_file():
        is_folder = file.is_dir()
        raise FileNotFoundError(
            f"{file} is a folder: go there, and run paribus explore without a file" if is_folder
            else f"there is no file {file}"
        )  # fmt: skip
    if known is not None:
        check_writable(known)
        if known.exists():
            read_known(known)
    with loading():
        try:
            from paribus.explore.run import run
        except ModuleNotFoundError as error:
            if (error.name or "").split(".")[0] not in ("starlette", "uvicorn", "anyio"):
                raise
            raise ValueError("the explorer needs starlette and uvicorn: pip install 'paribus[explore]'") from None
    run(file, known, port, n_jobs, opens_browser, note)
