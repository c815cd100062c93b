"""The settings of a bundle: ``.openknowledge.toml`` in its root."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from openknowledge.engine import limits
from openknowledge.engine.bundle.issues import Issue
from openknowledge.engine.bundle.validation import RULE_BY_ID, Override, parse_override
from openknowledge.engine.bundle.walk import read_file
from openknowledge.engine.errors import UsageError

CONFIG_NAME = ".openknowledge.toml"


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
    if not path.is_file() or path.is_symlink():
        return Config()
    try:
        if path.stat().st_size > limits.CONFIG_BYTES:
            return _broken(f"settings are larger than {limits.CONFIG_BYTES} bytes")
        data, _ = read_file(str(path))
        text = data.decode("utf-8")
    except OSError as error:
        return _broken(f"cannot read settings: {error.strerror}")
    except UnicodeDecodeError as error:
        return _broken(f"settings are not valid UTF-8: byte at offset {error.start}")
    return parse_config(text)


def parse_config(text: str) -> Config:
    """Return the settings in the TOML ``text``."""
    import tomllib

    try:
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        found = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        line, column = (int(found[1]), int(found[2])) if found else (1, 1)
        return _broken(f"settings are not valid TOML: {error}", line, column)
    issues: list[Issue] = []
    overrides = _overrides(text, content, issues)
    return Config(CONFIG_NAME, overrides, _policy_rules(text, content, issues), tuple(issues))


def _overrides(text: str, content: dict[str, Any], issues: list[Issue]) -> dict[str, Override]:
    validation = content.get("validation", {})
    rules = validation.get("rules", {}) if isinstance(validation, dict) else None
    if not isinstance(rules, dict):
        issues.append(_issue(text, "validation", "[validation.rules] must be a table of rule = severity"))
        return {}
    overrides: dict[str, Override] = {}
    for rule, severity in rules.items():
        try:
            name, level = parse_override(rule, severity if isinstance(severity, str) else repr(severity))
        except UsageError as error:
            issues.append(_issue(text, rule, error.message))
        else:
            overrides[name] = level
    return overrides


def _policy_rules(text: str, content: dict[str, Any], issues: list[Issue]) -> tuple[str, ...]:
    policy = content.get("policy", {})
    rules = policy.get("rules", []) if isinstance(policy, dict) else None
    if not isinstance(rules, list) or not all(isinstance(item, str) and item for item in rules):
        issues.append(_issue(text, "policy", "[policy] rules must be a list of paths or glob patterns"))
        return ()
    return tuple(rules)


def _issue(text: str, key: str, message: str) -> Issue:
    found = re.search(rf"^[ \t]*\[?[\"']?(?:[\w.-]*\.)?{re.escape(key)}\b", text, re.MULTILINE)
    line = text.count("\n", 0, found.start()) + 1 if found else 1
    return Issue(CONFIG_NAME, "rule-catalog", RULE_BY_ID["rule-catalog"].severity, message, line)


def _broken(message: str, line: int = 1, column: int = 1) -> Config:
    issue = Issue(CONFIG_NAME, "rule-catalog", RULE_BY_ID["rule-catalog"].severity, message, line, column)
    return Config(CONFIG_NAME, issues=(issue,))
