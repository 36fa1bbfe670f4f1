"""Programs that tests need and pip does not have."""

from __future__ import annotations

import os
import shutil
import subprocess


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
