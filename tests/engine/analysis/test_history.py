"""A repository of thirty commits: every revision and every difference is right, by value."""

from __future__ import annotations

import hashlib
import io
import itertools
import subprocess
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from openknowledge.engine.analysis.checks import run_checks
from openknowledge.engine.analysis.conclusions import Conclusions
from openknowledge.engine.analysis.diff import Diff, Side, compare
from openknowledge.engine.analysis.git_revisions import read_revision, store_at, store_of
from openknowledge.engine.clock import fixed_clock
from openknowledge.engine.store import Store

HOME = "knowledge"
G, Q = "ex:claim/gateway-old", "ex:claim/queue"
OTHER, LATER, DERIVED = "ex:claim/gateway-other", "ex:claim/gateway-new", "ex:claim/derived"


@dataclass
class Step:
    """One commit, and what has to be true of it.

    ``claims`` and ``pages`` are the changes since the commit before; ``new`` and ``fixed`` are the findings
    that come and go, as rule and subject; ``affected`` is what depends on the claims that changed;
    ``stands`` are the claims with their statuses, and ``stale`` those that are stale, at the commit.
    """

    files: Mapping[str, str | None]
    claims: dict[str, str] = field(default_factory=dict)
    pages: dict[str, str] = field(default_factory=dict)
    new: set[tuple[str, str]] = field(default_factory=set)
    fixed: set[tuple[str, str]] = field(default_factory=set)
    affected: set[tuple[str, str]] = field(default_factory=set)
    stands: dict[str, str] = field(default_factory=dict)
    stale: set[str] = field(default_factory=set)
    merge: bool = False
    link: str = ""


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def steps(make: Any) -> list[Step]:
    claim, page = make.claim, make.page
    notes, changed_notes = "limit: 10\n", "limit: 10 (soft)\n"

    def reviewed(value: int, text: str, status: str = "verified", extra: str = "") -> str:
        review = (
            "verification:\n  method: review\n  by: human:ann\n  at: 2026-01-01\n  evidence_refs: [notes]\n"
            "  evidence_versions:\n    - { evidence_ref: notes, source_ref: notes, resource: notes.txt, "
            f"sha256: {digest(text)}, by: human:ann, at: 2026-01-01 }}\n"
        )
        return claim(
            "gateway-old",
            value,
            status=status,
            extra=review + extra,
            evidence="[{ id: notes, source_ref: notes }]",
        )

    source = "sources:\n  - { id: notes, resource: notes.txt }\n"
    gateway = page("Gateway", reviewed(10, notes), front=source)
    edited = page("Gateway", reviewed(10, notes), front=source, text="Other text.")
    fresh = page("Gateway", reviewed(10, changed_notes), front=source, text="Other text.")
    ended = "decisions:\n  - { action: superseded, by: human:ann, at: 2026-01-12 }\n"
    superseded = page(
        "Gateway", reviewed(10, changed_notes, "superseded", ended), front=source, text="Other text."
    )
    queue = page(
        "Queue",
        claim("queue", 20, subject="ex:queue", extra="stale_after: 2026-01-10", evidence=SUPPORT),
        front=SOURCE,
    )
    later = claim("queue", 20, subject="ex:queue", extra="stale_after: 2027-01-10", evidence=SUPPORT)
    queue_later = page("Queue", later, front=SOURCE)
    odd = later.replace("predicate: ex:limit", "predicate: ex:unheard")
    other = claim("gateway-other", 11, evidence=SUPPORT)
    rejected = claim(
        "gateway-other",
        11,
        status="rejected",
        extra="decisions:\n  - { action: rejected, by: human:ann, at: 2026-01-06 }",
        evidence=SUPPORT,
    )
    replaces = "relations: { supersedes: [ex:claim/gateway-old] }"
    new_12 = page("New", claim("gateway-new", 12, extra=replaces, evidence=SUPPORT), front=SOURCE)
    new_13 = page("New", claim("gateway-new", 13, extra=replaces, evidence=SUPPORT), front=SOURCE)
    from_new = "relations: { derived_from: [ex:claim/gateway-new] }"
    derived = claim("derived", 5, subject="ex:queue", extra="scope: {}\n" + from_new, evidence=SUPPORT)
    derived = derived.replace("ex:slot/limit", "ex:slot/derived")
    archived = derived.replace("status: supported", "status: archived").replace(
        "    relations", "    decisions: [{ action: archived, by: human:ann, at: 2026-01-30 }]\n    relations"
    )
    refers = page("Guide", front="claim_refs: [ex:claim/gateway-new]\n")
    rule = 'finding("{0}", Claim, "nobody owns {{Claim}}") :- claim(Claim, _, _, _), !owner(Claim, _).\n'
    settings = '[policy]\nrules = ["policy/*.dl"]\n'
    first = {G: "verified"}
    two = {**first, Q: "supported"}
    three = {**two, OTHER: "rejected"}
    four = {**three, G: "superseded", LATER: "supported"}
    five = {**four, DERIVED: "supported"}
    unowned = {("policy/owners.dl", name) for name in five}
    without = {name: status for name, status in five.items() if name != OTHER}
    owners = "owners: [team:a]\n"
    return [
        Step(
            {"index.md": "# Home\n", "ontology.md": make.ONTOLOGY, "log.md": "# Log\n"},
            pages={"index.md": "added", "ontology.md": "added", "log.md": "added"},
        ),
        Step(
            {"gateway.md": gateway, "notes.txt": notes},
            claims={G: "added"},
            pages={"gateway.md": "added"},
            stands=first,
        ),
        Step({"queue.md": queue}, claims={Q: "added"}, pages={"queue.md": "added"}, stands=two),
        Step({"gateway.md": edited}, pages={"gateway.md": "changed"}, stands=two),
        Step(
            {"other.md": page("Other", other, front=SOURCE)},
            claims={OTHER: "added"},
            pages={"other.md": "added"},
            new={("claim-conflict", G)},
            stands={**two, OTHER: "supported"},
        ),
        Step(
            {"other.md": page("Other", rejected, front=SOURCE)},
            claims={OTHER: "lifecycle"},
            pages={"other.md": "changed"},
            fixed={("claim-conflict", G)},
            stands=three,
        ),
        Step(
            {"notes.txt": changed_notes},
            new={("claim-evidence-stale", G)},
            stands=three,
            stale={G},
        ),
        Step(
            {"gateway.md": fresh},
            claims={G: "changed"},
            pages={"gateway.md": "changed"},
            fixed={("claim-evidence-stale", G)},
            stands=three,
        ),
        Step(
            {"queue.md": None, "teams/queue.md": queue},
            claims={Q: "moved"},
            pages={"teams/queue.md": "renamed"},
            stands=three,
        ),
        Step(
            {"log.md": "# Log\n\n## 2026-01-10\n\n- Nothing.\n"},
            pages={"log.md": "changed"},
            new={("claim-stale", Q)},
            stands=three,
            stale={Q},
        ),
        Step(
            {"teams/queue.md": queue_later},
            claims={Q: "changed"},
            pages={"teams/queue.md": "changed"},
            fixed={("claim-stale", Q)},
            stands=three,
        ),
        Step(
            {"gateway.md": superseded, "new.md": new_12},
            claims={G: "lifecycle", LATER: "added"},
            pages={"gateway.md": "changed", "new.md": "added"},
            stands=four,
        ),
        Step({"guide.md": refers}, pages={"guide.md": "added"}, stands=four),
        Step(
            {"derived.md": page("Derived", derived, front=SOURCE)},
            claims={DERIVED: "added"},
            pages={"derived.md": "added"},
            stands=five,
        ),
        Step(
            {"new.md": new_13},
            claims={LATER: "changed"},
            pages={"new.md": "changed"},
            affected={("guide", "refers"), ("derived", "derived"), (DERIVED, "derived")},
            stands=five,
        ),
        Step(
            {".openknowledge.toml": settings, "policy/owners.dl": rule.format("low")},
            new=unowned,
            stands=five,
        ),
        Step(
            # the statement of the finding has its severity: a graver finding is another one
            {"policy/owners.dl": rule.format("high")},
            new=unowned,
            fixed=unowned,
            stands=five,
        ),
        Step(
            {
                "gateway.md": superseded.replace("type: Note\n", "type: Note\n" + owners),
                "teams/queue.md": queue_later.replace("type: Note\n", "type: Note\n" + owners),
                "other.md": page("Other", rejected, front=SOURCE + owners),
                "new.md": new_13.replace("type: Note\n", "type: Note\n" + owners),
                "derived.md": page("Derived", derived, front=SOURCE + owners),
            },
            claims=dict.fromkeys(five, "changed"),
            pages=dict.fromkeys(
                ("gateway.md", "teams/queue.md", "other.md", "new.md", "derived.md"), "changed"
            ),
            fixed=unowned,
            affected={("guide", "refers"), ("derived", "derived"), (DERIVED, "derived")},
            stands=five,
        ),
        Step(
            {"guide.md": refers + "\n[more](more.md)\n"},
            pages={"guide.md": "changed"},
            new={("link-target", "guide.md")},
            stands=five,
        ),
        Step(
            {"guide.md": refers},
            pages={"guide.md": "changed"},
            fixed={("link-target", "guide.md")},
            stands=five,
        ),
        Step({"other.md": None}, claims={OTHER: "removed"}, pages={"other.md": "removed"}, stands=without),
        Step(
            {"teams/queue.md": page("Queue", odd, front=SOURCE + owners)},
            claims={Q: "quarantined"},
            pages={"teams/queue.md": "changed"},
            new={("claim-profile", "teams/queue.md")},
            stands={name: status for name, status in without.items() if name != Q},
        ),
        Step(
            {"teams/queue.md": page("Queue", later, front=SOURCE + owners)},
            claims={Q: "released"},
            pages={"teams/queue.md": "changed"},
            fixed={("claim-profile", "teams/queue.md")},
            stands=without,
        ),
        Step(
            {
                "teams/queue.md": page("Queue", front=owners),
                "derived.md": page("Derived", derived, later, front=SOURCE + owners),
            },
            claims={Q: "moved"},
            pages={"teams/queue.md": "changed", "derived.md": "changed"},
            stands=without,
        ),
        Step({"branch.md": page("Branch")}, pages={"branch.md": "added"}, stands=without, merge=True),
        Step({}, new={("bundle-read", "alias.md")}, stands=without, link="alias.md"),
        Step({"alias.md": None}, fixed={("bundle-read", "alias.md")}, stands=without),
        Step({'ü "q".md': page("Quoted")}, pages={'ü "q".md': "added"}, stands=without),
        Step({"branch.md": None}, pages={"branch.md": "removed"}, stands=without),
        Step(
            {"derived.md": page("Derived", archived, later, front=SOURCE + owners)},
            claims={DERIVED: "lifecycle"},
            pages={"derived.md": "changed"},
            stands={**without, DERIVED: "archived"},
        ),
    ]


SOURCE = "sources:\n  - { id: web, resource: https://example.com/limits }\n"
SUPPORT = "[{ id: web, source_ref: web }]"


@dataclass
class History:
    """The repository, its commits, and what each has to be."""

    root: Path
    commits: list[str]
    steps: list[Step]


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory, repository_class: Any, make_class: Any) -> History:
    root = tmp_path_factory.mktemp("history")
    repository = repository_class(root)
    commits = []
    todo = steps(make_class)
    for number, step in enumerate(todo, 1):
        when = f"2026-01-{number:02d}T12:00:00Z"
        files = {f"{HOME}/{name}": text for name, text in step.files.items()}
        if step.link:
            (root / HOME / step.link).symlink_to("gateway.md")
        if step.merge:
            repository.git("checkout", "-q", "-b", "topic", "HEAD~3")
            repository.commit(files, when)
            repository.git("checkout", "-q", "main")
            repository.git("merge", "-q", "--no-ff", "-m", "merge", "topic", when=when)
            commits.append(repository.git("rev-parse", "HEAD"))
        else:
            commits.append(repository.commit(files, when))
    return History(root / HOME, commits, todo)


NUMBERS = range(30)


def test_there_are_thirty_commits(history: History) -> None:
    assert len(history.commits) == len(set(history.commits)) == len(history.steps) == 30


@pytest.fixture(scope="module")
def sides(history: History) -> list[Side]:
    found = []
    known = None
    for commit in history.commits:
        revision = read_revision(history.root, commit, known=known)
        known = revision.bundle
        found.append(Side.of(store_of(revision, revision.commit.time), commit[:8], commit))
    return found


@pytest.mark.parametrize("number", NUMBERS)
def test_the_claims_at_a_commit_have_the_statuses_they_had_then(history: History, number: int) -> None:
    store = store_at(history.root, history.commits[number])
    assert {claim.id: claim.status for claim in store.claim_set.claims} == history.steps[number].stands
    assert set(store.claim_set.stale) == history.steps[number].stale


@pytest.fixture(scope="module")
def diffs(sides: list[Side]) -> list[Diff]:
    return [compare(before, after) for before, after in itertools.pairwise(sides)]


@pytest.mark.parametrize("number", NUMBERS[1:])
def test_a_commit_changes_the_claims_it_changes(history: History, diffs: list[Diff], number: int) -> None:
    found = {change.id: change.kind for change in diffs[number - 1].claims}
    assert found == history.steps[number].claims


@pytest.mark.parametrize("number", NUMBERS[1:])
def test_a_commit_changes_the_pages_it_changes(history: History, diffs: list[Diff], number: int) -> None:
    found = {change.path: change.kind for change in diffs[number - 1].pages}
    assert found == history.steps[number].pages


@pytest.mark.parametrize("number", NUMBERS[1:])
def test_findings_come_and_go_with_the_commit_that_causes_them(
    history: History, diffs: list[Diff], number: int
) -> None:
    diff, step = diffs[number - 1], history.steps[number]
    assert {(finding.rule, finding.subject) for finding in diff.new} == step.new
    assert {(finding.rule, finding.subject) for finding in diff.fixed} == step.fixed


@pytest.mark.parametrize("number", NUMBERS[1:])
def test_what_depends_on_a_changed_claim_is_named(history: History, diffs: list[Diff], number: int) -> None:
    found = {
        (item.subject, item.how) for item in diffs[number - 1].affected if item.how not in ("shares-source",)
    }
    assert found == history.steps[number].affected


@pytest.mark.parametrize("number", NUMBERS)
def test_a_revision_read_from_objects_is_what_a_checkout_would_be(
    history: History, sides: list[Side], number: int, tmp_path: Path
) -> None:
    side = sides[number]
    archive = subprocess.run(
        ["git", "archive", history.commits[number], "."], cwd=history.root, capture_output=True, check=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(tmp_path, filter="tar")
    on_disk = Store.open(tmp_path, clock=fixed_clock(side.run.now))
    assert on_disk.bundle.index_sha256 == side.bundle.index_sha256
    assert on_disk.bundle.assets == side.bundle.assets
    expected = [
        (item.id, item.path, item.line, item.message) for item in run_checks(Conclusions(on_disk)).findings
    ]
    assert [(item.id, item.path, item.line, item.message) for item in side.run.findings] == expected


def test_the_difference_over_all_commits_is_what_is_there_at_the_end(sides: list[Side]) -> None:
    diff = compare(sides[0], sides[-1])
    assert {change.id: change.kind for change in diff.claims} == dict.fromkeys(
        (G, Q, LATER, DERIVED), "added"
    )
    assert {(finding.rule, finding.subject) for finding in diff.new} == set()


def test_two_equal_states_do_not_differ(sides: list[Side]) -> None:
    assert compare(sides[7], sides[7]).is_empty


def test_a_difference_read_backwards_swaps_what_is_new_and_what_is_fixed(sides: list[Side]) -> None:
    for before, after in itertools.pairwise(sides):
        forth, back = compare(before, after), compare(after, before)
        assert {finding.id for finding in forth.new} == {finding.id for finding in back.fixed}
        assert {finding.id for finding in forth.fixed} == {finding.id for finding in back.new}


def test_a_superseded_claim_names_its_successor(diffs: list[Diff]) -> None:
    change = next(change for change in diffs[10].claims if change.id == G)
    assert change.superseded_by == (LATER,)
    assert ("status", "verified", "superseded") in change.fields


def test_a_renamed_page_names_where_it_came_from(diffs: list[Diff]) -> None:
    (change,) = diffs[7].pages
    assert (change.before, change.path) == ("queue.md", "teams/queue.md")


def test_a_changed_page_names_its_changed_sections(diffs: list[Diff]) -> None:
    (change,) = diffs[2].pages
    assert [(section.kind, section.id) for section in change.sections] == [("changed", "gateway#gateway")]
    assert not change.frontmatter


def test_every_new_finding_has_a_proof_that_ends_in_facts(diffs: list[Diff]) -> None:
    for diff in diffs:
        for finding in diff.new:
            leaves = finding.proof.leaves()
            assert leaves or finding.proof.kind == "asserted"
            facts = diff.head.conclusions.facts
            for leaf in leaves:
                if finding.path in diff.head.bundle.by_path:
                    assert facts.places(leaf.predicate, leaf.row or ()), leaf.atom
