"""Finds a Java for the tests on Spark. Run as a script, installs Debian's if there is none."""

from __future__ import annotations

import os
import shutil
import sys

from tests.support.system_packages import install, must_have

PACKAGE = "openjdk-17-jre-headless"
ADVICE = "install Java 17 or newer, or set JAVA_HOME"


def find_java() -> str | None:
    """The path of Java; None if there is none."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which(os.path.join(home, "bin", "java")) if home else shutil.which("java")


def main() -> int:
    if find_java() is None:
        install(PACKAGE)
    if find_java() is not None:
        return 0
    if must_have():
        print(f"There is no Java for the tests on Spark, and none can be installed: {ADVICE}.")
        return 1
    print(f"The tests on Spark will be skipped, because there is no Java: {ADVICE}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
