"""Random claims survive the way into a page; random damage to a proposal never does harm."""

from __future__ import annotations

import copy
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openknowledge.engine.claims.machine import claim_json
from openknowledge.engine.errors import OpenKnowledgeError
from openknowledge.engine.operations.apply import apply_proposal
from openknowledge.engine.operations.entities import apply_entity_proposal, propose_merge
from openknowledge.engine.operations.lifecycle import approve_authority, dispute_claim
from openknowledge.engine.operations.pin import pin_evidence
from openknowledge.schemas import operations as shapes
from pydantic import ConfigDict, TypeAdapter, with_config

from .conftest import ARTIFACT, FOLDER, INDEX, LINKED, MEMORY, ONTOLOGY, PAGE, Sample, new_claim

SETTINGS = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
FILES = {
    "index.md": INDEX,
    "ontology.md": ONTOLOGY,
    "page.md": PAGE,
    "guide.md": LINKED,
    "sources/settings.txt": ARTIFACT,
    "sources/notes.txt": "notes\n",
    f"{FOLDER}/artifact.txt": ARTIFACT,
}


class Folder:
    """A new sample bundle for each example."""

    def __enter__(self) -> Sample:
        self.path = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))
        sample = Sample(self.path / "bundle")
        for path, text in FILES.items():
            sample.write(path, text)
        return sample

    def __exit__(self, *error: object) -> None:
        shutil.rmtree(self.path)


words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20).filter(str.strip)
scalars = st.one_of(words, st.integers(-(10**20), 10**20), st.booleans(), st.floats(-1e9, 1e9))
names = st.from_regex(r"[A-Za-z][A-Za-z0-9._/-]{0,8}", fullmatch=True).map(lambda name: f"ex:{name}")
dates = st.dates().map(str)
positions = st.tuples(st.integers(0, 40), st.integers(1, 20)).map(
    lambda pair: {"type": "text_position", "start": pair[0], "end": pair[0] + pair[1]}
)
quotes = st.sampled_from(
    [{"type": "text_quote", "exact": "12 hours", "suffix": ".\n"}, {"type": "text_quote", "exact": "is 30"}]
)
evidence = st.lists(
    st.fixed_dictionaries(
        {"id": names, "sourceRef": st.just("pinned")},
        optional={
            "stance": st.sampled_from(["supports", "opposes", "contextualizes"]),
            "role": st.sampled_from(["primary", "secondary", "method"]),
            "selector": positions | quotes,
            "observedAt": dates,
        },
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda item: item["id"],
)
claims = st.fixed_dictionaries(
    {
        "slot": names,
        "object": st.builds(lambda value: {"value": value}, scalars),
        "predicate": st.just("ex:note"),
        "evidence": evidence,
    },
    optional={
        "scope": st.dictionaries(names, st.builds(lambda value: {"value": value}, scalars), max_size=2),
        "owners": st.lists(words.map(str.strip), max_size=2, unique=True),
        "staleAfter": dates,
        "sectionRef": st.sampled_from(["#timeout", "#other"]),
        "relations": st.just({"derivedFrom": ["ex:idle"], "contradicts": ["ex:idle"]}),
    },
)


@settings(SETTINGS, max_examples=30)
@given(claims)
def test_a_random_claim_is_read_back_as_it_was_proposed(claim: dict[str, Any]) -> None:
    with Folder() as sample:
        before = sample.files()
        proposal = sample.propose(**claim)
        apply_proposal(sample.root, proposal)
        assert all(line.startswith("page.md: +") for line in sample.changed_lines(before))
        facts = sample.store().fact_set
        found = json.loads(json.dumps(claim_json(facts.claim("ex:new"), facts)))
        wanted = proposal["claim"]
        assert sample.valid()
        for key in ("id", "slot", "subject", "predicate", "evidence", "status"):
            assert found[key] == wanted[key]
        for key in ("staleAfter", "sectionRef"):
            assert found.get(key) == wanted.get(key)
        assert sorted(found["owners"]) == sorted({name.strip() for name in wanted.get("owners", [])})
        assert _text(found["object"]) == _text(wanted["object"])
        assert {name: _text(value) for name, value in found.get("scope", {}).items()} == {
            name: _text(value) for name, value in wanted.get("scope", {}).items()
        }


def _text(value: dict[str, Any]) -> Any:
    found = value["value"]
    return found.strip() if isinstance(found, str) else found


junk = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.text(max_size=5),
    st.sampled_from(["/claims/0", "/claims/-", "/verified", "../x", "verified", "human:x", "ex:idle"]),
    st.just([]),
    st.just({}),
)


@SETTINGS
@given(st.data())
def test_a_damaged_proposal_is_refused_or_does_what_it_says(data: st.DataObject) -> None:
    with Folder() as sample:
        proposal = sample.propose()
        damaged = copy.deepcopy(proposal)
        for _ in range(data.draw(st.integers(1, 3))):
            _damage(damaged, data)
        before = sample.files()
        try:
            apply_proposal(sample.root, damaged)
        except OpenKnowledgeError:
            assert sample.files() == before
            return
        old, new = before["page.md"], sample.files()["page.md"]
        assert new.startswith(old[: old.index(b"claims:")])
        assert new.endswith(old[old.index(b"---\n\n# Alpha") :])
        claim = sample.store().claim_set.claim(damaged["claim"]["id"])
        assert (claim.status, claim.verification, claim.decisions) == ("proposed", None, ())
        assert sample.valid()


def _damage(value: Any, data: st.DataObject) -> None:
    """Replace, remove or add something at a random place."""
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        if not keys:
            return
        key = data.draw(st.sampled_from(keys))
        inner = value[key]
        if isinstance(inner, (dict, list)) and inner and data.draw(st.booleans()):
            value = inner
            continue
        how = data.draw(st.sampled_from(["replace", "remove", "add", "copy"]))
        if how == "remove":
            del value[key]
        elif how == "add" and isinstance(value, dict):
            value[data.draw(st.sampled_from(["note", "verification", "decisions", "from", "value"]))] = (
                data.draw(junk)
            )
        elif how == "copy" and isinstance(value, list):
            value.append(copy.deepcopy(inner))
        else:
            value[key] = data.draw(junk)
        return


def exactly(shape: Any) -> TypeAdapter[Any]:
    return TypeAdapter(with_config(ConfigDict(extra="forbid"))(shape))


def test_every_result_has_its_declared_shape() -> None:
    with Folder() as sample:
        proposal = sample.propose()
        exactly(shapes.ClaimProposal).validate_python(proposal)
        exactly(shapes.Mutation).validate_python(apply_proposal(sample.root, proposal, dry_run=True))
        exactly(shapes.Mutation).validate_python(dispute_claim(sample.root, "ex:idle"))
        exactly(shapes.Mutation).validate_python(
            approve_authority(sample.root, "page.md", "live", approved_by="human:a")
        )
        exactly(shapes.PinResult).validate_python(
            pin_evidence(sample.root, document="page.md", source="live")
        )
        merge = propose_merge(sample.store(), "ex:beta", "ex:alpha", reason="r")
        exactly(shapes.EntityProposal).validate_python(merge)
        exactly(shapes.EntityMutation).validate_python(
            apply_entity_proposal(sample.root, merge, approved_by="human:a", dry_run=True)
        )


def test_the_input_of_agents_is_the_input_of_the_command() -> None:
    from openknowledge.schemas.mcp import ClaimArguments
    from openknowledge.schemas.operations import ClaimInput

    given = new_claim(evidence=[{"id": "e", "sourceRef": "live", "stance": "supports", "role": "primary"}])
    agent = ClaimArguments.model_validate(given).model_dump(by_alias=True, exclude_none=True)
    command = ClaimInput.model_validate(given).model_dump(by_alias=True, exclude_none=True)
    assert {key: value for key, value in command.items() if key != "owners"} == agent
    assert set(ClaimInput.model_fields) - set(ClaimArguments.model_fields) == {"owners"}
