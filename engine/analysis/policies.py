"""A bundle's own policies: rule files that derive ``finding(Severity, Subject, Message)``.

``{Name}`` in a message stands for the value that the variable has in the rule; each instance of the rule is
then a finding of its own. Every finding is proved by the rule as it stands in the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from openknowledge.engine import limits
from openknowledge.engine.analysis.checks import POLICY_ERROR, Places
from openknowledge.engine.analysis.conclusions import Conclusions
from openknowledge.engine.analysis.findings import SEVERITIES, Finding, Grounds, Severity
from openknowledge.engine.analysis.globs import is_relative_pattern, matches
from openknowledge.engine.config import CONFIG_NAME
from openknowledge.engine.datalog import (
    CLOSED_WORLD_PROFILE,
    DatalogError,
    Limits,
    Model,
    Proof,
    Rule,
    RuleText,
    Value,
    display_atom,
    parse_rules,
)
from openknowledge.engine.datalog.analysis import body_atoms, rule_problems, safety_problems
from openknowledge.engine.datalog.proof import ASSERTED
from openknowledge.engine.datalog.query import plain
from openknowledge.engine.datalog.syntax import Atom, Constant, Term, Variable
from openknowledge.engine.errors import LimitError, OpenKnowledgeError, Span

HEAD = "finding"
ARITY = 3
_SIMILAR = 0.75
_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True, slots=True)
class _Stated:
    """A rule for ``finding``, the head under which its instances are derived, and its placeholders."""

    rule: Rule
    head: str
    names: tuple[str, ...]

    @property
    def instances(self) -> Rule:
        """The same rule with the values of the placeholders in its head."""
        arguments: tuple[Term, ...] = (*self.rule.head.arguments, *map(Variable, self.names))
        return Rule(Atom(self.head, arguments), self.rule.premises, source=self.rule.source)


def policy_files(conclusions: Conclusions) -> tuple[list[RuleText], list[Finding]]:
    """Return the rule texts that ``[policy] rules`` of the settings names, by path, and what is wrong."""
    bundle = conclusions.bundle
    problems: list[Finding] = []
    paths: set[str] = set()
    for pattern in conclusions.store.config.policy_rules:
        if not is_relative_pattern(pattern):
            problem = f"[policy] rules has {pattern!r}, which is no path or pattern inside the bundle"
            problems.append(_error(CONFIG_NAME, problem, 1, 1))
            continue
        found = [path for path in bundle.assets if matches(pattern, path)]
        if not found:
            problem = f"[policy] rules has {pattern!r}, which matches no file of the bundle"
            problems.append(_error(CONFIG_NAME, problem, 1, 1))
        paths.update(found)
    if len(paths) > limits.POLICY_FILES:
        problem = f"[policy] rules names {len(paths)} files; the limit is {limits.POLICY_FILES}"
        return [], [_error(CONFIG_NAME, problem, 1, 1)]
    texts = []
    size = 0
    for path in sorted(paths):
        artifact = conclusions.files.artifact(path)
        if artifact.state != "read":
            problems.append(_error(path, f"the policy cannot be read: it {artifact.problem}", 1, 1))
            continue
        data = conclusions.files.data(path)
        size += len(data)
        try:
            texts.append(RuleText(data.decode("utf-8-sig"), path))
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            problems.append(_error(path, "the policy is not valid UTF-8", line, 1))
    if size > limits.RULE_BYTES:
        problem = f"the policies have {size:,} bytes together; the limit is {limits.RULE_BYTES:,} bytes"
        return [], [_error(CONFIG_NAME, problem, 1, 1)]
    return texts, problems


def policy_findings(
    conclusions: Conclusions, texts: Sequence[RuleText]
) -> tuple[list[Finding], list[Finding]]:
    """Return what the policies find, and what is wrong with them: grammar, rules, limits, findings.

    Policies that have a fault are not run at all, so that no gate passes by a rule that was left out.
    """
    stated, problems = _read(texts)
    if problems:
        return [], problems
    program = [*texts]
    for item in stated:
        program.append(RuleText(str(item.instances), f"{item.rule.source} ({item.head})"))
    bounds = replace(Limits.command_line(), rule_bytes=None)
    try:
        model = conclusions.derive_own(program, bounds)
        if not stated:
            problem = "no policy derives finding(Severity, Subject, Message), so none can find anything"
            return [], [_error(texts[0].source, problem, 1, 1)]
        return _results(conclusions, stated, model)
    except DatalogError as error:
        source = error.source.partition(" (")[0]
        return [], [_error(source, error.problem, error.span.line, error.span.column)]
    except LimitError as error:
        message = error.message.replace("the query was stopped after its", "they were stopped after their")
        return [], [_error(texts[0].source, f"the policies cannot be judged: {message}", 1, 1)]
    except OpenKnowledgeError as error:
        return [], [_error(texts[0].source, f"the policies cannot be judged: {error.message}", 1, 1)]


def policy_problems(texts: Sequence[RuleText]) -> list[Finding]:
    """Return what is wrong with policies, as far as that can be told without a bundle."""
    return _read(texts)[1]


def _read(texts: Sequence[RuleText]) -> tuple[list[_Stated], list[Finding]]:
    problems: list[Finding] = []
    rules: list[Rule] = []
    for text in texts:
        try:
            rules.extend(parse_rules(text.text, text.source))
        except DatalogError as error:
            problems.append(_error(text.source, error.problem, error.span.line, error.span.column))
    taken = {rule.head.predicate for rule in rules}
    taken |= {atom.predicate for rule in rules for atom in body_atoms(rule)}
    stated: list[_Stated] = []
    needed = {atom.predicate for rule in rules for atom in body_atoms(rule)}
    for rule in rules:
        if _is_slip(rule, needed):
            problem = (
                f"nothing needs {rule.head.predicate}; did you mean finding(Severity, Subject, Message)?"
            )
            problems.append(_error(rule.source, problem, rule.span.line, rule.span.column))
        found = [*rule_problems(rule, CLOSED_WORLD_PROFILE), *safety_problems(rule)]
        for _, problem, span in found:
            problems.append(_error(rule.source, problem, span.line, span.column))
        if rule.head.predicate != HEAD or found:
            continue
        names: list[str] = []
        for problem, span in _head_problems(rule, names):
            problems.append(_error(rule.source, problem, span.line, span.column))
        head = f"{HEAD}_{len(stated) + 1}"
        while head in taken:
            head += "_"
        taken.add(head)
        stated.append(_Stated(rule, head, tuple(names)))
    return stated, problems


def _is_slip(rule: Rule, needed: set[str]) -> bool:
    """Whether the rule seems meant to derive findings: no gate may pass for a misspelt head."""
    head = rule.head
    similar = SequenceMatcher(None, head.predicate, HEAD).ratio() >= _SIMILAR
    return (
        head.predicate != HEAD and len(head.arguments) == ARITY and similar and head.predicate not in needed
    )


def _head_problems(rule: Rule, names: list[str]) -> Iterator[tuple[str, Span]]:
    """Yield what is wrong with the head of a rule for findings; add the placeholders to ``names``."""
    arguments = rule.head.arguments
    if len(arguments) != ARITY:
        yield f"finding has {ARITY} arguments: severity, subject and message", rule.head.span
        return
    if rule.is_aggregate:
        yield "finding takes no aggregate: derive the number by a rule of its own", rule.head.span
        return
    severity, subject, message = arguments
    if isinstance(severity, Constant) and severity.value not in SEVERITIES:
        yield _unknown_severity(severity.value), severity.span
    if isinstance(subject, Constant) and not isinstance(subject.value, str):
        yield "the subject of a finding is a text: the id of a page, section or claim", subject.span
    if not isinstance(message, Constant):
        return
    if not isinstance(message.value, str):
        yield "the message of a finding is a text", message.span
        return
    bound = {variable.name for atom in rule.atoms() for variable in atom.variables()}
    for found in _PLACEHOLDER.finditer(message.value):
        name = found[1]
        if name is None or name in names:
            continue
        if name in bound:
            names.append(name)
        else:
            known = ", ".join(sorted(bound)) or "none"
            yield (
                f"the message names {{{name}}}, but no premise of this rule binds such a variable "
                f"(there are: {known}); write {{{{{name}}}}} for the text itself",
                message.span,
            )


def _unknown_severity(value: Value) -> str:
    return f"unknown severity {plain(value)!r}: a finding is high, medium or low"


def _results(
    conclusions: Conclusions, stated: Sequence[_Stated], model: Model
) -> tuple[list[Finding], list[Finding]]:
    places = Places(conclusions)
    findings: dict[tuple[str, str, str], Finding] = {}
    problems: dict[tuple[str, int, str], Finding] = {}
    for item in stated:
        rule = item.rule
        for row in sorted(model[item.head], key=lambda row: display_atom(item.head, row)):
            severity, subject = row[:2]
            where = places.of_subject(subject) if isinstance(subject, str) else None
            if severity not in SEVERITIES:
                problem = _unknown_severity(severity)
            elif where is None:
                problem = (
                    f"this rule has a finding about {plain(subject)!r}, which is no page, section, claim, "
                    "entity or file of the bundle"
                )
            else:
                finding = _finding(conclusions, item, row, where, model)
                findings.setdefault((rule.source, finding.path, finding.atom), finding)
                continue
            key = (rule.source, rule.span.line, problem)
            problems.setdefault(key, _error(rule.source, problem, rule.span.line, rule.span.column))
    return list(findings.values()), list(problems.values())


def _finding(
    conclusions: Conclusions,
    item: _Stated,
    row: tuple[Value, ...],
    where: tuple[str, int, int],
    model: Model,
) -> Finding:
    severity, subject, template = row[:ARITY]
    values = dict(zip(item.names, row[ARITY:], strict=True))

    def prove() -> Proof:
        # the instance proves the finding by the rule as the file has it
        return replace(
            model.proof(item.head, row),
            atom=display_atom(HEAD, row[:ARITY]),
            predicate=HEAD,
            row=row[:ARITY],
            rule_id=item.rule.rule_id,
            rule=str(item.rule),
        )

    path, line, column = where
    return Finding(
        rule=item.rule.source,
        severity=_severity(severity),
        subject=str(plain(subject)),
        message=filled(str(plain(template)), values)
        if isinstance(item.rule.head.arguments[2], Constant)
        else str(plain(template)),
        path=path,
        line=line,
        column=column,
        atom=display_atom(HEAD, row),
        grounds=Grounds(prove, conclusions.places),
    )


def _severity(value: Value) -> Severity:
    return next(name for name in SEVERITIES if name == value)


def filled(template: str, values: dict[str, Value]) -> str:
    """Return ``template`` with each ``{Name}`` replaced by its value; ``{{`` and ``}}`` are braces."""

    def value_of(found: re.Match[str]) -> str:
        name = found[1]
        return found[0][0] if name is None else str(plain(values[name]))

    return _PLACEHOLDER.sub(value_of, template)


def _error(path: str, problem: str, line: int, column: int) -> Finding:
    row = (path, POLICY_ERROR, problem)
    atom = display_atom("issue", row)
    proof = Proof(ASSERTED, atom, "issue", row)
    grounds = Grounds(lambda: proof)
    return Finding(POLICY_ERROR, "high", path, problem, path, line, column, atom, grounds)
