"""The layout of the code: which packages may import which, and who may look at whose private names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "paribus"
CPP = ROOT / "src" / "cpp"

PACKAGES = [
    "_common",
    "tables",
    "engines",
    "methods",
    "advice",
    "persistence",
    "explain",
    "pictures",
    "output",
    "detectors",
    "datasets",
    "baselines",
    "evaluation",
    "io",
    "stream",
    "serving",
    "explore",
    "cli",
]
"""From the bottom up: a module may import from its own package and from those before it."""

ENGINE = "paribus._core"
DOORS = {"paribus", "paribus.__main__", "paribus.spark", "paribus.dask"}
"""What users import or run: these may import anything, and nothing needs to import them."""

LIBRARIES = {"paribus.evaluation.statistics", "paribus.stream.river_adapter"}
"""Modules that only users and benchmarks/ import."""

FOREIGN_PRIVATES = {"os._exit", "pool._processes"}
"""Names of the standard library: the first is public in spite of its name, the second has no public form."""

# Which folders of C++ each one may include, besides itself.
CPP_FOLDERS: dict[str, set[str]] = {
    "common": set(),
    "kernels": {"common"},
    "qcad": {"common", "kernels"},
    "surprise": {"common", "kernels"},
    "stream": set(),
    "bindings": {"common", "kernels", "qcad", "surprise", "stream"},
}


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def tree_of(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text(encoding="utf-8"))


def package_of(module: str) -> str:
    """The package that a module is in; the module itself for those that are in none, such as the doors."""
    return module.split(".")[1] if module.count(".") > 1 or module.split(".")[-1] in PACKAGES else module


def imports_of(tree: ast.AST) -> Iterator[str]:
    """The modules of paribus that code imports, wherever the statement stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "paribus")
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            assert node.level == 0, "imports are absolute"
            if module.split(".")[0] == "paribus":
                names = [f"{module}.{alias.name}" for alias in node.names]
                yield from (name if name in MODULES or name == ENGINE else module for name in names)


def upward_imports(module: str, tree: ast.AST) -> list[str]:
    """The modules that a module imports and may not."""
    allowed = {*PACKAGES[: PACKAGES.index(package_of(module)) + 1], ENGINE}
    return [each for each in imports_of(tree) if package_of(each) not in allowed]


def foreign_privates(tree: ast.AST) -> list[str]:
    """The private names that code uses and does not define."""
    nodes = list(ast.walk(tree))
    own = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    own |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    own |= {node.attr for node in nodes if isinstance(node, ast.Attribute) and _is_own(node.value)}
    used = [
        ast.unparse(node)
        for node in nodes
        if isinstance(node, ast.Attribute) and _is_private(node.attr) and node.attr not in own
    ]
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("paribus."):
            used += [alias.name for alias in node.names if _is_private(alias.name)]
    return [name for name in used if name not in FOREIGN_PRIVATES]


def _is_own(value: ast.expr) -> bool:
    return isinstance(value, ast.Name) and value.id in ("self", "cls")


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def test_every_package_has_its_place() -> None:
    """Tests that the list of packages is the list of folders."""
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} == set(PACKAGES)


def test_imports_go_down() -> None:
    """Tests that a module imports only from its own package and those below it, lazily and for types included."""
    found = {module: upward_imports(module, tree_of(module)) for module in MODULES if module not in DOORS}
    assert {module: names for module, names in found.items() if names} == {}


def test_an_import_that_goes_up_is_noticed() -> None:
    """Tests that the check of imports sees each form of an import, and the public names of the package itself."""
    code = """
import paribus.cli.app
from paribus import QCAD, _core, tables
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from paribus.detectors.base import ContextualDetector
def work():
    from paribus.explain import view
    from paribus._common.text import plain
"""
    found = ["paribus.cli.app", "paribus", "paribus.detectors.base", "paribus.explain.view"]
    assert sorted(upward_imports("paribus.methods.registry", ast.parse(code))) == sorted(found)


def test_every_module_is_used() -> None:
    """Tests that each module is imported by another one, or named by the registry or the package's door."""
    used: set[str] = set()
    for module in MODULES:
        tree = tree_of(module)
        named = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
        for each in [*imports_of(tree), *(value for value in named if value in MODULES)]:
            if each != module:
                parts = str(each).split(".")
                used.update(".".join(parts[:n]) for n in range(1, len(parts) + 1))
    assert set(MODULES) - used - DOORS - LIBRARIES == set()


def test_no_module_uses_privates_of_another() -> None:
    """Tests that private names are used only in the module that defines them."""
    found = {module: foreign_privates(tree_of(module)) for module in MODULES}
    assert {module: names for module, names in found.items() if names} == {}


def test_the_use_of_a_private_name_is_noticed() -> None:
    """Tests that the check of private names tells those of others from a module's own."""
    code = """
from paribus.tables.table import _hidden
class Mine:
    def __init__(self):
        self._own = 1
    def same(self, other):
        return other._own + other.view()._fitted + other.__class__
"""
    assert foreign_privates(ast.parse(code)) == ["other.view()._fitted", "_hidden"]


@pytest.mark.parametrize("path", sorted(CPP.rglob("*.[ch]pp")), ids=lambda path: str(path.relative_to(CPP)))
def test_cpp_includes_go_down(path: Path) -> None:
    """Tests that the engine's folders include only those below them, and that only the bindings know nanobind."""
    text = path.read_text(encoding="utf-8")
    own = path.parent.name
    folders = {name.split("/")[0] for name in re.findall(r'^\s*#\s*include "(.*)"', text, flags=re.MULTILINE)}
    assert folders <= CPP_FOLDERS[own] | {own}
    assert own == "bindings" or not ("nanobind" in text or "Python.h" in text)
