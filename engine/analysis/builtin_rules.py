"""The rule files that ship with the product."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from openknowledge.engine.datalog import Rule, RuleText, parse_rules
from openknowledge.engine.errors import UsageError

_SIGNATURE = re.compile(r"   ([a-z_]+\([^)]*\))\s*(.*)")


@dataclass(frozen=True, slots=True)
class RuleFile:
    """One built-in rule file. ``summary`` is the first sentence of its header, ``heads`` what it derives."""

    name: str
    text: str
    rules: tuple[Rule, ...]

    @property
    def summary(self) -> str:
        """What the file is about, in one line."""
        first = self.text.split("\n", 1)[0].lstrip("#% ")
        return first.partition(": ")[2] or first

    @property
    def conclusions(self) -> tuple[tuple[str, str], ...]:
        """What the header says the file derives: each signature with its meaning."""
        header = self.text.partition("# Derives\n")[2].partition("\n#\n")[0]
        found: list[tuple[str, str]] = []
        for line in header.split("\n"):
            text = line.removeprefix("#").rstrip()
            signature = _SIGNATURE.match(text)
            if signature:
                found.append((signature[1], signature[2]))
            elif found:
                found[-1] = (found[-1][0], f"{found[-1][1]} {text.strip()}".strip())
        return tuple(found)

    @property
    def heads(self) -> tuple[str, ...]:
        """The predicates that the file derives, in the order of the file."""
        return tuple(dict.fromkeys(rule.head.predicate for rule in self.rules))


@cache
def builtin_rule_files() -> tuple[RuleFile, ...]:
    """Return every built-in rule file by name."""
    folder = files("openknowledge.rules")
    names = sorted(item.name for item in folder.iterdir() if item.name.endswith(".dl"))
    found = []
    for name in names:
        text = (folder / name).read_text(encoding="utf-8")
        found.append(RuleFile(name.removesuffix(".dl"), text, parse_rules(text, name)))
    return tuple(found)


def builtin_rule_file(name: str) -> RuleFile:
    """Return the built-in rule file with this name (with or without ``.dl``).

    Raises ``UsageError`` naming the choices.
    """
    for file in builtin_rule_files():
        if file.name == name.removesuffix(".dl"):
            return file
    known = ", ".join(file.name for file in builtin_rule_files())
    raise UsageError(f"unknown rule file {name!r}; choose one of {known}")


def builtin_texts(redefined: Iterable[str] = ()) -> list[RuleText]:
    """Return the built-in rules as texts for a program.

    Whoever defines a predicate of a built-in file replaces its definition: the built-in rules for the
    predicates in ``redefined`` are left out.
    """
    own = frozenset(redefined)
    texts = []
    for file in builtin_rule_files():
        if own.isdisjoint(file.heads):
            texts.append(RuleText(file.text, file.name + ".dl", built_in=True))
        else:
            kept = [str(rule) for rule in file.rules if rule.head.predicate not in own]
            texts.append(RuleText("\n".join(kept), file.name + ".dl", built_in=True))
    return texts


def program_texts(own: Iterable[RuleText]) -> list[RuleText]:
    """Return a user's rule texts together with the built-in ones that they do not replace.

    Raises ``DatalogError`` where a text of the user does not parse.
    """
    texts = list(own)
    heads = {rule.head.predicate for text in texts for rule in parse_rules(text.text, text.source)}
    return [*texts, *builtin_texts(heads)]
