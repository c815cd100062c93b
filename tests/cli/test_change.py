"""The commands that change knowledge: what they print, return and write."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CORPUS = Path(__file__).resolve().parents[2] / "corpora/identity"
Okn = Callable[..., Any]
CLAIM = {
    "id": "auth:claim/id-token-lifetime",
    "slot": "auth:slot/id-token-lifetime",
    "subject": "auth:token/access-token",
    "predicate": "auth:tokenLifetime",
    "object": {
        "value": 5,
        "datatype": "xsd:integer",
        "unit": "unit:MIN",
        "quantityKind": "quantitykind:Time",
    },
    "scope": {
        "auth:dimension/client-class": {"ref": "auth:client/first-party"},
        "auth:dimension/environment": {"ref": "auth:environment/staging"},
    },
    "evidence": [
        {
            "id": "deployed",
            "sourceRef": "issuer-settings",
            "selector": {"type": "text_quote", "exact": '"first_party": 600'},
        }
    ],
    "sectionRef": "#lifetime",
}
PAGE = "tokens/access-token.md"
NEW = "auth:claim/id-token-lifetime"


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return Path(shutil.copytree(CORPUS, tmp_path / "bundle"))


@pytest.fixture
def claim_file(tmp_path: Path) -> Path:
    path = tmp_path / "claim.json"
    path.write_text(json.dumps(CLAIM))
    return path


@pytest.fixture
def proposal(okn: Okn, bundle: Path, claim_file: Path, tmp_path: Path) -> Path:
    out = tmp_path / "proposal.json"
    done = propose(okn, bundle, "--claim-file", claim_file, "--out", out)
    assert (done.code, done.out) == (0, "")
    return out


def propose(okn: Okn, bundle: Path, *arguments: Any) -> Any:
    common = ("--path", bundle, "--document", PAGE, "--reason", "as deployed", "--confidence", "0.9")
    return okn("claims", "propose", *common, *arguments)


def files(bundle: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(bundle.rglob("*")) if path.is_file()}


def test_a_proposal_is_printed_and_nothing_written(okn: Okn, bundle: Path, claim_file: Path) -> None:
    before = files(bundle)
    done = propose(okn, bundle, "--claim-file", claim_file)
    assert done.code == 0
    assert json.loads(done.out)["claim"]["id"] == NEW
    assert done.out.endswith("]\n}\n")
    assert files(bundle) == before


def test_the_claim_may_be_given_on_the_command_line(okn: Okn, bundle: Path) -> None:
    done = propose(okn, bundle, "--claim-json", json.dumps(CLAIM))
    assert json.loads(done.out)["document"] == PAGE


def test_the_diff_shows_what_would_change(okn: Okn, bundle: Path, claim_file: Path) -> None:
    done = propose(okn, bundle, "--claim-file", claim_file, "--diff")
    assert done.out.startswith(f"--- a/{PAGE}\n+++ b/{PAGE}\n@@ ")
    assert f"+  - id: {NEW}\n" in done.out
    assert '"type"' not in done.out


def test_what_applying_would_refuse_is_said_at_once(okn: Okn, bundle: Path) -> None:
    done = propose(okn, bundle, "--claim-json", json.dumps(CLAIM | {"predicate": "auth:undeclared"}))
    assert done.code == 0
    assert "applying this would be refused" in done.err
    assert "auth:undeclared" in done.err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((), 2, "--claim-json or as --claim-file"),
        (("--claim-json", "{}", "--claim-file", "x"), 2, "--claim-json or as --claim-file"),
        (("--claim-json", "{"), 1, "--claim-json:1:2: not JSON"),
        (("--claim-json", "[]"), 1, "must be a JSON object"),
        (("--claim-json", '{"id": "a:b", "id": "a:c"}'), 1, 'the field "id" is there twice'),
        (("--claim-json", "{}"), 1, "id is missing"),
        (("--claim-file", "gone.json"), 1, "cannot read 'gone.json'"),
    ],
)
def test_a_bad_claim_is_reported(
    okn: Okn, bundle: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    done = propose(okn, bundle, *arguments)
    assert (done.code, done.out) == (code, "")
    assert message in done.err
    assert "Traceback" not in done.err


def test_review_shows_what_matters_on_one_screen(okn: Okn, bundle: Path, proposal: Path) -> None:
    done = okn("claims", "review", proposal, "--path", bundle)
    assert done.code == 0
    for words in ("can be applied", "Access token: token lifetime: 5 MIN", '>>>"first_party": 600<<<'):
        assert words in done.out


def test_review_writes_markdown_and_json(okn: Okn, bundle: Path, proposal: Path) -> None:
    assert okn("claims", "review", proposal, "--path", bundle, "--format", "markdown").out.startswith("### ")
    found = json.loads(okn("claims", "review", proposal, "--path", bundle, "--format", "json").out)
    assert found["reviews"][0]["claimId"] == NEW
    assert okn("claims", "review", proposal, "--path", bundle, "--format", "pdf").code == 2


def test_review_of_what_cannot_be_applied_exits_with_1(okn: Okn, bundle: Path, proposal: Path) -> None:
    (bundle / PAGE).write_text((bundle / PAGE).read_text() + "\n")
    done = okn("claims", "review", proposal, "--path", bundle)
    assert done.code == 1
    assert "CANNOT BE APPLIED" in done.out


def test_apply_dry_run_then_apply_then_again(okn: Okn, bundle: Path, proposal: Path) -> None:
    before = files(bundle)
    tried = okn("claims", "apply", proposal, "--path", bundle, "--dry-run")
    assert (tried.code, files(bundle)) == (0, before)
    assert "would be changed" in tried.out
    assert f"+  - id: {NEW}\n" in tried.out
    done = okn("claims", "apply", proposal, "--path", bundle)
    assert (done.code, done.out) == (0, f"apply: {NEW} in {PAGE}: done\n")
    again = okn("claims", "apply", proposal, "--path", bundle)
    assert again.code == 1
    assert "the proposal is stale because" in again.err


def test_the_mutation_report(okn: Okn, bundle: Path, proposal: Path) -> None:
    done = okn("claims", "apply", proposal, "--path", bundle, "--json")
    assert json.loads(done.out) == {
        "schemaVersion": "1",
        "action": "apply",
        "root": str(bundle),
        "claimId": NEW,
        "document": PAGE,
        "changed": True,
    }


def test_a_claim_through_its_life(okn: Okn, bundle: Path, proposal: Path) -> None:
    def run(command: str, *arguments: str) -> Any:
        done = okn("--now", "2026-12-01", "claims", command, *arguments, "--path", bundle)
        assert done.code == 0, done.err
        return done

    invalid = json.loads(okn("claims", "validate", bundle, "--json").out)["issues"]
    run("apply", str(proposal))
    run("link", NEW, "--document", "glossary.md")
    run("verify", NEW, "--approved-by", "human:mara.okafor")
    run("reconcile", NEW, "--approved-by", "process:nightly")
    run("dispute", NEW)
    run("reject", NEW, "--approved-by", "github:mara", "--reason", "read wrongly")
    text = (bundle / PAGE).read_text()
    assert text.count('at: "2026-12-01T00:00:00Z"') == 3
    assert "reason: read wrongly" in text
    assert json.loads(okn("claims", "validate", bundle, "--json").out)["issues"] == invalid


def test_nothing_to_change_is_said(okn: Okn, bundle: Path) -> None:
    command = ("claims", "dispute", "auth:claim/issuer-signs-es256", "--path", bundle)
    assert "done" in okn(*command).out
    assert "nothing to change" in okn(*command).out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("verify", "auth:claim/issuer-signs-es256"), 2, "--approved-by"),
        (("verify", "auth:claim/issuer-signs-es256", "--approved-by", "agent:x"), 1, "may not verify claims"),
        (
            ("reject", "auth:claim/issuer-signs-es256", "--approved-by", "process:x"),
            1,
            "may not reject claims",
        ),
        (("reject", "auth:claim/issuer-signs-es256", "--approved-by", "human:x"), 1, "needs a reason"),
        (("archive", "auth:claim/nope", "--approved-by", "human:x"), 1, "there is no claim"),
        (("supersede", "auth:claim/issuer-signs-es256", "--approved-by", "human:x"), 1, "no claim lists"),
        (
            ("reconcile", "auth:claim/issuer-signs-es256", "--approved-by", "human:x"),
            1,
            "only a verified claim",
        ),
        (
            ("reconcile", "auth:claim/access-token-lifetime-partner", "--approved-by", "human:x"),
            1,
            "pin the source",
        ),
        (("apply", "gone.json"), 1, "cannot read 'gone.json'"),
        (
            ("entities", "propose", "auth:token/access-token", "--reason", "r"),
            2,
            "--alias TEXT or --from ENTITY",
        ),
        (("approve-authority", "--document", PAGE, "--approved-by", "human:x"), 2, "name the one source"),
        (
            ("approve-authority", "a", "--source", "b", "--document", PAGE, "--approved-by", "human:x"),
            2,
            "name the one source",
        ),
        (
            ("approve-authority", "rfc6750", "--document", PAGE, "--approved-by", "human:x"),
            1,
            "has no role",
        ),
        (
            ("approve-authority", "--document", PAGE, "--source", "rfc6750", "--approved-by", "human:x"),
            1,
            "has no role",
        ),
    ],
)
def test_a_refusal_says_why_and_changes_nothing(
    okn: Okn, bundle: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    before = files(bundle)
    done = okn("claims", *arguments, "--path", bundle)
    assert (done.code, done.out) == (code, "")
    assert message in done.err
    assert files(bundle) == before


def test_errors_are_json_when_asked(okn: Okn, bundle: Path) -> None:
    done = okn(
        "--error-format",
        "json",
        "claims",
        "verify",
        "auth:claim/nope",
        "--approved-by",
        "human:x",
        "--path",
        bundle,
    )
    error = json.loads(done.err)["error"]
    assert (error["kind"], error["command"], error["exitCode"]) == ("runtime", "claims verify", 1)


def test_entities_are_merged_in_three_commands(okn: Okn, bundle: Path, tmp_path: Path) -> None:
    out = tmp_path / "merge.json"
    keep, old = "auth:service/directory", "auth:service/session-service"
    common = ("--path", bundle)
    done = okn("claims", "entities", "propose", keep, "--from", old, "--reason", "one", "--out", out, *common)
    assert done.code == 0
    impact = okn("claims", "entities", "impact", out, *common)
    assert impact.out.endswith("8 references on 5 pages\n")
    assert "services/session-service.md: auth:claim/session-idle-timeout-production: subject\n" in impact.out
    found = json.loads(okn("claims", "entities", "impact", out, "--json", *common).out)
    assert found["mergeFrom"] == old
    refused = okn("claims", "entities", "apply", out, "--approved-by", "agent:unsafe", *common)
    assert refused.code == 1
    done = okn("claims", "entities", "apply", out, "--approved-by", "human:mara", *common)
    assert done.out == f"merge: {keep} from {old} (8 references on 5 pages): done\n"
    assert old not in (bundle / "services/session-service.md").read_text()


def test_an_alias_is_proposed_and_applied(okn: Okn, bundle: Path, tmp_path: Path) -> None:
    out = tmp_path / "alias.json"
    arguments = ("auth:token/access-token", "--alias", "API token", "--reason", "r", "--out", out)
    assert okn("claims", "entities", "propose", *arguments, "--path", bundle).code == 0
    done = okn("claims", "entities", "apply", out, "--approved-by", "github:m", "--path", bundle, "--json")
    assert json.loads(done.out)["approvedBy"] == "github:m"
    assert "alt_labels: [bearer token, API token]" in (bundle / "ontology.md").read_text()


def test_evidence_is_pinned_and_pinned_again(okn: Okn, bundle: Path) -> None:
    arguments = ("--document", "services/token-issuer.md", "--source", "issuer-settings", "--path", bundle)
    first = okn("evidence", "pin", bundle / "sources/issuer-settings.json", *arguments)
    assert first.code == 0
    assert first.out.startswith("issuer-settings in services/token-issuer.md: pinned\n")
    again = okn("evidence", "pin", *arguments, "--json")
    result = json.loads(again.out)
    assert result["changed"] is False
    assert (bundle / result["artifact"]).read_bytes() == (
        bundle / "sources/issuer-settings.json"
    ).read_bytes()
    claim = "auth:claim/access-token-lifetime-partner"
    done = okn("claims", "reconcile", claim, "--approved-by", "human:mara", "--path", bundle)
    assert done.code == 0


def test_evidence_alone_is_wrong_usage(okn: Okn) -> None:
    assert okn("evidence").code == 2


def test_a_stale_pin_is_refused(okn: Okn, bundle: Path) -> None:
    done = okn(
        "evidence", "pin", "--document", PAGE, "--source", "staging-notes", "--path", bundle, bundle / "no"
    )
    assert (done.code, done.out) == (1, "")
    assert "cannot read" in done.err
