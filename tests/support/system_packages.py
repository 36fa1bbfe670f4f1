"""Programs that tests need and pip does not have."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable


def must_have() -> bool:
    """Whether a missing program is an error: in CI, a skipped test would go unnoticed."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false")


def install(package: str) -> None:
    """Installs a package of Debian by apt-get, as root or with a sudo that needs no password."""
    if shutil.which("apt-get") is None:
        return
    prefix: list[str] = []
    if os.geteuid() != 0:
        if shutil.which("sudo") is None or subprocess.run(["sudo", "-n", "true"], capture_output=True).returncode:
            return
        prefix = ["sudo", "-n"]
    print(f"Installing {package}", flush=True)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    command = [*prefix, "apt-get", "install", "-y", "-qq", "--no-install-recommends", package]
    if subprocess.run(command, env=environment, capture_output=True).returncode:
        # The package lists are missing or too old.
        subprocess.run([*prefix, "apt-get", "update", "-qq"], env=environment, capture_output=True)
        subprocess.run(command, env=environment, stdout=subprocess.DEVNULL)


def provide(what: str, find: Callable[[], object], package: str, tests: str, advice: str) -> int:
    """Installs a program that is missing. Returns an exit code: 1 if that fails where tests must not be skipped."""
    if find() is None:
        install(package)
    if find() is not None:
        return 0
    if must_have():
        print(f"There is no {what} for {tests}, and none can be installed: {advice}.")
        return 1
    print(f"{tests[0].upper()}{tests[1:]} will be skipped, because there is no {what}: {advice}.")
    return 0
