"""Checks a wheel: its tags, its content, and whether it runs in a clean environment without a compiler.

Usage: check_wheel.py WHEEL PYTHON FOLDER, with the Python to install into and a folder for the environment.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    """Checks the wheel, and stops with a sentence at the first thing that is wrong."""
    wheel, python, folder = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    check_name(wheel.name, python)
    check_content(wheel)
    environment = folder / "venv"
    shutil.rmtree(environment, ignore_errors=True)
    subprocess.run([python, "-m", "venv", environment], check=True)
    # Nothing but the environment's own programs is on the path, and no compiler has a name.
    clean = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "LANG"))}
    with tempfile.TemporaryDirectory() as home:
        clean |= {"PATH": str((environment / "bin").resolve()), "HOME": home, "CC": "/none", "CXX": "/none"}
        for compiler in ("cc", "c++", "gcc", "g++", "clang", "clang++", "cmake", "ninja"):
            assert shutil.which(compiler, path=clean["PATH"]) is None, f"there is a compiler: {compiler}"
        run = [str(environment.resolve() / "bin" / "python")]
        print(f"Installing {wheel.name} in a clean environment without a compiler", flush=True)
        pip = [*run, "-m", "pip", "--quiet", "--disable-pip-version-check", "install", "--only-binary=:all:"]
        subprocess.run([*pip, str(wheel.resolve())], env=clean, cwd=home, check=True)
        subprocess.run([*run, "-m", "pip", "check"], env=clean, cwd=home, check=True, stdout=subprocess.DEVNULL)
        demo = [str(environment.resolve() / "bin" / "paribus"), "demo"]
        shown = subprocess.run(demo, env=clean, cwd=home, check=True, capture_output=True, text=True).stdout
        if not shown.strip() or not (Path(home) / "paribus-demo.html").is_file():
            sys.exit("The demo printed nothing, or wrote no report.")
        subprocess.run([*run, str((HERE / "smoke.py").resolve())], env=clean, cwd=home, check=True)


def check_name(name: str, python: str) -> None:
    """Stops if the wheel is not for the stable ABI, or not accepted as manylinux."""
    version = subprocess.run(
        [python, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True, check=True
    ).stdout.split()
    is_stable = [int(part) for part in version] >= [3, 12]
    tag = "cp312-abi3" if is_stable else f"cp{''.join(version)}-cp{''.join(version)}"
    systems = r"manylinux_\d+_\d+_\w+(\.manylinux\w+)*" if sys.platform == "linux" else r"\w+"
    if not re.fullmatch(rf"paribus-[^-]+-{tag}-{systems}\.whl", name):
        sys.exit(f"{name} is not a {tag} wheel{' that auditwheel accepts' if sys.platform == 'linux' else ''}.")


def check_content(wheel: Path) -> None:
    """Stops if the wheel misses something, or has what does not belong into it."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    for wanted in (r"paribus/_core\..*so", r"paribus/py\.typed", r"paribus/_core\.pyi", r".*dist-info/.*LICENSE"):
        if not any(re.fullmatch(wanted, name) for name in names):
            sys.exit(f"{wheel.name} has no {wanted}.")
    if strange := [name for name in names if not re.match(r"paribus(-[^/]+\.dist-info|\.libs)?/", name)]:
        sys.exit(f"{wheel.name} should not have {strange[0]}.")


if __name__ == "__main__":
    main()
