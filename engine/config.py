"""The settings of a bundle: ``.openknowledge.toml`` in its root."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from openknowledge.engine import limits
from openknowledge.engine.bundle.issues import Issue
from openknowledge.engine.bundle.validation import RULE_BY_ID, Override, parse_override
from openknowledge.engine.bundle.walk import read_file
from openknowledge.engine.errors import UsageError

CONFIG_NAME = ".openknowledge.toml"
KEYS = {"validation": frozenset({"rules"}), "policy": frozenset({"rules"})}
"""The tables of the settings and their keys."""
_SHOWN = 200  # characters of a message from the TOML reader
# the time and memory of the TOML reader grow with the square of a key's parts
_LONG_KEY = re.compile(
    r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){%d}"""  # noqa: UP031
    % limits.CONFIG_KEY_PARTS
)


@dataclass(frozen=True)
class Config:
    """The settings that were read, and what is wrong in them. ``path`` is empty when there is no file."""

    path: str = ""
    overrides: Mapping[str, Override] = field(default_factory=dict)
    policy_rules: tuple[str, ...] = ()
    issues: tuple[Issue, ...] = ()


def read_config(root: Path) -> Config:
    """Return the settings of the bundle at ``root``. What is wrong in the file is an issue of the result."""
    path = root / CONFIG_NAME
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return Config()  # what it is instead is an issue of the walk
        data, _ = read_file(str(path), limits.CONFIG_BYTES)
        text = data.decode("utf-8-sig")
    except FileNotFoundError:
        return Config()
    except OSError as error:
        return _broken(f"cannot read settings: {error.strerror}")
    except UnicodeDecodeError as error:
        return _broken(f"settings are not valid UTF-8: byte at offset {error.start}")
    return parse_config(text)


def parse_config(text: str) -> Config:
    """Return the settings in the TOML ``text``."""
    import tomllib

    if found := _LONG_KEY.search(text):
        message = f"settings have a key of more than {limits.CONFIG_KEY_PARTS} parts"
        return _broken(message, text.count("\n", 0, found.start()) + 1)
    try:
        content = tomllib.loads(text)
    except RecursionError:
        return _broken("settings are not valid TOML: nested too deeply")
    except ValueError as error:  # TOMLDecodeError, or a number that Python does not convert
        found = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        line, column = (int(found[1]), int(found[2])) if found else (1, 1)
        return _broken(f"settings are not valid TOML: {str(error)[:_SHOWN]}", line, column)
    issues: list[Issue] = []
    lines = _lines_of_keys(text)
    issues.extend(_issue(lines, key, message) for key, message in _unknown_keys(content))
    overrides = _overrides(lines, content, issues)
    return Config(CONFIG_NAME, overrides, _policy_rules(lines, content, issues), tuple(issues))


def _unknown_keys(content: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the keys that look like a slip, with what to say: one may be a gate that its author believes in.

    A table of quite another name may belong to another tool.
    """
    from difflib import get_close_matches

    for name, table in content.items():
        if name in KEYS:
            for key in sorted(table.keys() - KEYS[name]) if isinstance(table, dict) else ():
                known = ", ".join(sorted(KEYS[name]))
                yield key, f"[{name}] has an unknown key {key[:_SHOWN]!r}; known: {known}"
        elif similar := get_close_matches(name[:_SHOWN], KEYS, n=1, cutoff=0.75):
            yield name, f"settings have an unknown table {name[:_SHOWN]!r}; did you mean [{similar[0]}]?"


def _overrides(lines: Mapping[str, int], content: dict[str, Any], issues: list[Issue]) -> dict[str, Override]:
    validation = content.get("validation", {})
    rules = validation.get("rules", {}) if isinstance(validation, dict) else None
    if not isinstance(rules, dict):
        issues.append(_issue(lines, "validation", "[validation.rules] must be a table of rule = severity"))
        return {}
    overrides: dict[str, Override] = {}
    for rule, severity in rules.items():
        try:
            name, level = parse_override(rule, severity if isinstance(severity, str) else repr(severity))
        except UsageError as error:
            issues.append(_issue(lines, rule, error.message))
        else:
            overrides[name] = level
    return overrides


def _policy_rules(lines: Mapping[str, int], content: dict[str, Any], issues: list[Issue]) -> tuple[str, ...]:
    policy = content.get("policy", {})
    rules = policy.get("rules", []) if isinstance(policy, dict) else None
    if not isinstance(rules, list) or not all(isinstance(item, str) and item for item in rules):
        issues.append(_issue(lines, "policy", "[policy] rules must be a list of paths or glob patterns"))
        return ()
    return tuple(rules)


_KEY = re.compile(
    r"""[ \t]*+\[{0,2}+[ \t]*+((?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')(?:[ \t]*+\.[ \t]*+[\w-]++)*+)"""
)


def _lines_of_keys(text: str) -> dict[str, int]:
    """Return the first line on which each last part of a key or table name stands."""
    lines: dict[str, int] = {}
    for number, row in enumerate(text.split("\n"), start=1):
        if found := _KEY.match(row):
            lines.setdefault(found[1].rpartition(".")[2].strip(" \t\"'"), number)
    return lines


def _issue(lines: Mapping[str, int], key: str, message: str) -> Issue:
    severity = RULE_BY_ID["rule-catalog"].severity
    return Issue(CONFIG_NAME, "rule-catalog", severity, message, lines.get(key, 1))


def _broken(message: str, line: int = 1, column: int = 1) -> Config:
    issue = Issue(CONFIG_NAME, "rule-catalog", RULE_BY_ID["rule-catalog"].severity, message, line, column)
    return Config(CONFIG_NAME, issues=(issue,))
