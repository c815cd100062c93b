"""The Datalog route of ``okn query``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openknowledge.engine.datalog import Answer, RuleText
    from openknowledge.engine.store import Store

FORMATS = ("", "json", "table")


@dataclass(frozen=True, slots=True)
class DatalogRequest:
    """What the command line asks of the rule engine."""

    query: str
    rules: tuple[Path, ...]
    profile: str
    explain: bool
    verify: bool
    result_format: str
    limit: int
    timeout: float


def rule_texts(files: Sequence[Path]) -> list[RuleText]:
    """Return the texts of rule files. Raises ``OpenKnowledgeError`` for a file that cannot be read."""
    from openknowledge.cli.query import read_text_file
    from openknowledge.engine.datalog import RuleText

    return [RuleText(read_text_file(file), str(file)) for file in files]


def answer_datalog(store: Store, request: DatalogRequest, out: Path | None) -> None:
    """Answer the request and print it."""
    from openknowledge.cli.output import emit, is_terminal, note, to_json
    from openknowledge.engine.datalog import Limits
    from openknowledge.engine.errors import UsageError

    if request.result_format not in FORMATS:
        raise UsageError(f"format {request.result_format!r} is for SPARQL; Datalog has json and table")
    rules = rule_texts(request.rules)
    limits = replace(Limits.command_line(), results=request.limit, seconds=request.timeout)
    answer = store.answer_datalog(request.query, rules=rules, profile=request.profile, limits=limits)
    if request.verify:
        count = store.verify_datalog(answer, rules=rules, seconds=max(request.timeout, 30.0))
        note(f"verified: pyDatalog finds the same {count} answer{'' if count == 1 else 's'}")
    if request.explain:
        emit(_explained(store, answer), out)
    elif request.result_format == "json" or (not request.result_format and (out or not is_terminal())):
        emit(to_json(store.datalog_json(answer, rules=rules)), out)
    else:
        emit(_table(store, answer), out)
    if not answer.rows:
        _note_unknown(answer, rules)
    if answer.truncated:
        from openknowledge.cli.query import more_advice

        note(f"only the first {request.limit} answers are shown; {more_advice(request.limit)}")


def _note_unknown(answer: Answer, rules: list[RuleText]) -> None:
    from openknowledge.cli.output import note
    from openknowledge.engine.query.datalog import similar_predicates

    name = answer.query.predicate
    similar = similar_predicates(name, rules)
    if similar is not None:
        hint = f"; did you mean {', '.join(similar)}?" if similar else ""
        note(f"no relation and no rule is called {name}{hint}")


def _table(store: Store, answer: Answer) -> str:
    from openknowledge.cli.tables import table
    from openknowledge.engine.datalog import display

    header = [str(term) for term in answer.query.arguments]
    rows = []
    for row in answer.rows:
        places = [
            f"{source['document']}:{source.get('lineStart', 1)}" for source in store.sources_of_row(row)[:3]
        ]
        values = [value if isinstance(value, str) else display(value) for value in row.values]
        rows.append([*values, row.kind.partition("-")[0], ", ".join(places)])
    return table([*header, "kind", "rests on"], rows)


def _explained(store: Store, answer: Answer) -> str:
    from openknowledge.engine.datalog.render import proof_text

    if not answer.rows:
        return f"nothing matches {answer.query}; okn why-not says why a fact does not follow\n"
    return "\n".join(proof_text(row.proof, store.places_of_fact) for row in answer.rows)
