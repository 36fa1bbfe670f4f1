"""Checks that workers have the packages they need."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

PACKAGES = ("paribus", "pyarrow", "numpy")
"""What workers need."""
NO_VERSION = "?"
"""Stands for the version of a package that is installed but does not state one."""


def own_versions() -> dict[str, str]:
    """The versions of packages in this process.

    >>> sorted(own_versions())
    ['numpy', 'paribus', 'pyarrow']
    """
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = NO_VERSION
    return found


def check_versions(found: Mapping[str, str | None], own: Mapping[str, str], who: str) -> None:
    """Raises an error if a worker lacks a package, or has another version than is needed.

    Results do not depend on the version of pyarrow, but a much older or newer version may not be able to read the
    batches.

    >>> own = {"paribus": "1.0", "pyarrow": "26.0.1", "numpy": "2.3"}
    >>> check_versions({"paribus": None, "pyarrow": "26.0.1", "numpy": "2.3"}, own, "the Spark executors")
    Traceback (most recent call last):
      ...
    ValueError: the Spark executors do not have paribus: install paribus 1.0 on them, as on the driver
    """
    for name in PACKAGES:
        theirs = found.get(name)
        if theirs is None:
            raise ValueError(f"{who} do not have {name}: install {name} {own[name]} on them, as on the driver")
        if NO_VERSION in (theirs, own[name]):
            continue
        is_same = theirs == own[name] if name == "paribus" else _major(theirs) == _major(own[name])
        if not is_same:
            raise ValueError(
                f"{who} have {name} {theirs}, and the driver has {own[name]}: install the same version on both"
            )


def _major(number: str) -> str:
    return number.partition(".")[0]


def check_java() -> None:
    """Raises an error if there is no Java, which Spark needs where a session is started."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java") if not home else shutil.which(os.path.join(home, "bin", "java"))
    if found is None:
        where = f"in JAVA_HOME, which is {home}" if home else "on the PATH, and JAVA_HOME is not set"
        raise ValueError(f"Spark needs Java 17 or newer, and there is none {where}: install it, or use --engine dask")
