"""Finds a Chromium for the tests of the report. Run as a script, installs Debian's if there is none."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from tests.support.system_packages import provide

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MAC = Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")
ADVICE = "install Chromium, or set PARIBUS_CHROMIUM to the path of one"


def find_chromium() -> str | None:
    """The path of the browser; None if there is none."""
    if named := os.environ.get("PARIBUS_CHROMIUM"):
        return shutil.which(named)
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    return found or (str(MAC) if MAC.exists() else None)


if __name__ == "__main__":
    sys.exit(provide("Chromium", find_chromium, "chromium", "the tests in a browser", ADVICE))
