"""Finds a Java for the tests on Spark. Run as a script, installs Debian's if there is none."""

from __future__ import annotations

import os
import shutil
import sys

from tests.support.system_packages import provide

PACKAGE = "openjdk-17-jre-headless"
ADVICE = "install Java 17 or newer, or set JAVA_HOME"


def find_java() -> str | None:
    """The path of Java; None if there is none."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which(os.path.join(home, "bin", "java")) if home else shutil.which("java")


if __name__ == "__main__":
    sys.exit(provide("Java", find_java, PACKAGE, "the tests on Spark", ADVICE))
