"""The package: every module is in it, and one version is told everywhere."""

from __future__ import annotations

import tomllib
from pathlib import Path

from openknowledge.engine.version import __version__

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
FOLDERS = ("engine", "cli", "mcp", "schemas", "rules")


def test_the_version_is_the_same_in_code_and_metadata() -> None:
    assert PROJECT["project"]["version"] == __version__


def test_every_module_on_disk_is_in_a_listed_package() -> None:
    setuptools = PROJECT["tool"]["setuptools"]
    homes = {"openknowledge." + ".".join(Path(folder).parts) for folder in FOLDERS}
    for folder in FOLDERS:
        for file in (ROOT / folder).rglob("*.py"):
            package = "openknowledge." + ".".join(file.parent.relative_to(ROOT).parts)
            assert package in setuptools["packages"], file
            homes.add(package)
    assert homes == set(setuptools["packages"])


def test_every_package_is_typed() -> None:
    for package in PROJECT["tool"]["setuptools"]["packages"]:
        folder = ROOT / Path(*package.split(".")[1:])
        assert (folder / "py.typed").exists(), package


def test_the_server_folder_does_not_shadow_the_protocol_library() -> None:
    assert not (ROOT / "mcp/__init__.py").exists()


def test_no_module_is_called_utils() -> None:
    names = {file.stem for folder in FOLDERS for file in (ROOT / folder).rglob("*.py")}
    assert names.isdisjoint({"utils", "helpers", "misc", "common_utils"})
