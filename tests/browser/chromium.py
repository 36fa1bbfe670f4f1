"""Finds a Chromium for the tests of the report. Run as a script, installs Debian's if there is none."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MAC = Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")
ADVICE = "install Chromium, or set PARIBUS_CHROMIUM to the path of one"


def find_chromium() -> str | None:
    """The path of the browser; None if there is none."""
    if named := os.environ.get("PARIBUS_CHROMIUM"):
        return shutil.which(named)
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    return found or (str(MAC) if MAC.exists() else None)


def must_have_one() -> bool:
    """Whether a missing browser is an error: in CI, a skipped test would go unnoticed."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false")


def install() -> None:
    """Installs Chromium by apt-get, as root or with a sudo that needs no password."""
    if shutil.which("apt-get") is None:
        return
    prefix: list[str] = []
    if os.geteuid() != 0:
        if shutil.which("sudo") is None or subprocess.run(["sudo", "-n", "true"], capture_output=True).returncode:
            return
        prefix = ["sudo", "-n"]
    print("Installing chromium", flush=True)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    command = [*prefix, "apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium"]
    if subprocess.run(command, env=environment, capture_output=True).returncode:
        # The package lists are missing or too old.
        subprocess.run([*prefix, "apt-get", "update", "-qq"], env=environment, capture_output=True)
        subprocess.run(command, env=environment, stdout=subprocess.DEVNULL)


def main() -> int:
    if find_chromium() is None:
        install()
    if find_chromium() is not None:
        return 0
    if must_have_one():
        print(f"There is no browser for the tests of the report, and none can be installed: {ADVICE}.")
        return 1
    print(f"The tests of the report in a browser will be skipped, because there is none: {ADVICE}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
