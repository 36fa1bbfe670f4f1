"""The pages of this folder run as tests, those about public data only where it can be had."""

from __future__ import annotations

import os

collect_ignore_glob = ["*.py"]
if not os.environ.get("PARIBUS_DATA"):
    collect_ignore_glob.append("football.md")
