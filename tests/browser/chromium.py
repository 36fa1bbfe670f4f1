"""Finds a Chromium for the tests of the report. As a program: installs Debian's where there is none and we may."""

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
    """The program, if there is one."""
    if named := os.environ.get("PARIBUS_CHROMIUM"):
        return shutil.which(named)
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    return found or (str(MAC) if MAC.exists() else None)


def must_have_one() -> bool:
    """Whether the tests may not be skipped: nobody reads the list of what a CI run skipped."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false")


def install() -> None:
    """By apt-get, as root or with sudo if that asks for no password."""
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
        # The lists of packages are missing, or too old.
        subprocess.run([*prefix, "apt-get", "update", "-qq"], env=environment, capture_output=True)
        subprocess.run(command, env=environment, stdout=subprocess.DEVNULL)


def main() -> int:
    if find_chromium() is None:
        install()
    if find_chromium() is not None:
        return 0
    if must_have_one():
        print(f"There is no browser to test the report in, and none can be installed: {ADVICE}.")
        return 1
    print(f"The report will not be tested in a browser, for want of one: {ADVICE}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
