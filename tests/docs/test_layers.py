"""What holds of the project's files as a whole."""

import ast
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from construction import profiles
from psychology_kb.load import profiles as known_profiles

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("construction", "evaluation", "prompts", "psychemme", "psychology_kb", "state")
SHARED = ("construction", "evaluation", "prompts", "psychemme", "state")
TABLE = Path(profiles.__file__)
DATABASE = {"create_engine", "create_async_engine", "sqlite3", "psycopg"}


def modules(*packages: str) -> list[Path]:
    """Every module but those that an export ships, which run without this project."""
    found = [path for package in packages for path in sorted((ROOT / package).rglob("*.py"))]
    return [path for path in found if path.parent.name != "templates"]


def nodes(path: Path) -> Iterator[ast.AST]:
    return ast.walk(ast.parse(path.read_text("utf-8")))


def strings(path: Path) -> set[str]:
    constants = (node.value for node in nodes(path) if isinstance(node, ast.Constant))
    return {value for value in constants if isinstance(value, str)}


def attributes(path: Path) -> set[str]:
    return {node.attr for node in nodes(path) if isinstance(node, ast.Attribute)}


def imported(path: Path) -> set[str]:
    imports = (node for node in nodes(path) if isinstance(node, ast.Import | ast.ImportFrom))
    return {alias.name for node in imports for alias in node.names}


@pytest.mark.parametrize("package", PACKAGES)
def test_each_top_level_name_is_this_distributions_alone(package):
    assert packages_distributions()[package] == ["psychemme"]


def test_shared_modules_name_no_profile_but_in_the_one_table():
    naming = [path for path in modules(*SHARED) if strings(path) & set(known_profiles())]
    assert naming == [TABLE]


def test_every_profile_has_a_graph():
    assert all(callable(profiles.graph_builder(name)) for name in known_profiles())


def test_only_the_settings_read_the_environment():
    reading = [path.name for path in modules(*PACKAGES) if attributes(path) & {"environ", "getenv"}]
    assert reading == ["config.py"]


def test_only_the_engines_open_the_database():
    opening = [path for path in modules(*PACKAGES) if imported(path) & DATABASE]
    # Attacks talk to the drivers of connections that the engines opened.
    assert {path.parent.name for path in opening} == {"engines", "attacks"}
