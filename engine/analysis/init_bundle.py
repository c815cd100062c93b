"""A new bundle to start from: a sourced page, a typed claim with pinned evidence, settings, a policy."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

from openknowledge.engine.bundle.digests import sha256_hex
from openknowledge.engine.bundle.instants import format_instant
from openknowledge.engine.config import CONFIG_NAME
from openknowledge.engine.version import __version__

PAGE = "services/support.md"
SOURCE = "sources/support-terms.txt"
POLICY = "policy/owners.dl"

_TERMS = """Support terms

Hours:          Monday to Friday, 08:00 to 18:00 UTC
First answer:   within 8 hours
Urgent faults:  call the number on the status page
"""

_INDEX = """---
okf_version: "0.2"
---

# Knowledge

What we know, page by page, each with where it comes from.

* [Support](services/support.md) - When support answers, and what is urgent.
* [Ontology](ontology.md) - What typed claims may be about.
"""

_ONTOLOGY = """---
type: Ontology
title: Ontology
description: Entities and predicates that the typed claims of this bundle may use.
owners: [team:knowledge]
generated: {{ by: okn/{version}, at: {now} }}
openknowledge_claim_profile: "1"
claim_ontology:
  namespaces:
    ex: https://example.com/knowledge/
  entities:
    - id: ex:service/support
      types: [ex:Service]
      pref_label: Support
  predicates:
    - id: ex:firstAnswerWithin
      subject_types: [ex:Service]
      object_kind: quantity
      datatype: xsd:integer
      quantity_kind: quantitykind:Time
      canonical_unit: unit:HR
      maximum_count: 1
      pref_label: first answer within
---

# Ontology

Replace `ex:` with a namespace of your own, and add what your claims are about. A claim that uses anything
else is reported and kept out of every answer.
"""

_PAGE = """---
type: Service
title: Support
description: When support answers, and what is urgent.
owners: [team:support]
generated: {{ by: okn/{version}, at: {now} }}
stale_after: {later}T00:00:00Z
sources:
  - id: terms
    resource: ../{artifact}
    live_resource: ../{source}
    observe: pinned
    sha256: {sha256}
    title: Support terms
openknowledge_claim_profile: "1"
claims:
  - id: ex:claim/support-first-answer
    slot: ex:slot/first-answer
    subject: ex:service/support
    predicate: ex:firstAnswerWithin
    object: {{ value: 8, datatype: xsd:integer, unit: unit:HR, quantity_kind: quantitykind:Time }}
    status: verified
    stale_after: {later}
    section_ref: "#first-answer"
    evidence:
      - id: terms
        source_ref: terms
        observed_at: {now}
        selector: {{ type: text_quote, exact: "within 8 hours" }}
    verification:
      method: claim-review
      by: process:okn-init
      at: {now}
      evidence_refs: [terms]
      evidence_versions:
        - evidence_ref: terms
          source_ref: terms
          resource: ../{source}
          sha256: {sha256}
          by: process:okn-init
          at: {now}
---

# Support

## First answer

Support answers within eight hours. [^terms] The claim behind this sentence cites the words of the
[support terms](../{source}). When that file changes, the claim becomes stale and `okn check` fails,
until somebody has looked at it again.

[^terms]: Support terms, as pinned on {day}.
"""

_LOG = """# Log

## {day}

- Started this bundle with a page about [support](services/support.md).
"""

_SETTINGS = """# Settings of this bundle. "okn check --rules" lists everything that is checked.

[validation.rules]
link-target = "error"

[policy]
rules = ["policy/*.dl"]
"""

_POLICY = """# Policy: who answers for what.
#
# "okn check" reports each finding(Severity, Subject, Message). {{Name}} in a message stands for the value
# of the variable. "okn rules list" shows what rules can build on.

# Somebody owns every page on which a claim stands.
finding("high", Claim, "nobody owns {{Claim}}: add owners to {{Path}}") :-
    claim_in(Claim, Page, _), document(Page, Path, _), !owner(Claim, _).

# No page rests on a claim that has been rejected, superseded or archived.
finding("medium", Page, "this page refers to {{Claim}}, which is {{Status}}") :-
    claim_ref(Page, Claim), ended(Claim, Status).
"""


def new_bundle(now: datetime) -> dict[str, bytes]:
    """Return the files of a new bundle by their paths; ``now`` is the moment that its pages name."""
    sha256 = sha256_hex(_TERMS.encode())
    folder = f".openknowledge/evidence/sha256/{sha256}"
    artifact = f"{folder}/artifact.txt"
    moment = format_instant(now.replace(microsecond=0))
    values = {
        "version": __version__,
        "now": moment,
        "day": moment[:10],
        "later": (now + timedelta(days=365)).date().isoformat(),
        "source": SOURCE,
        "artifact": artifact,
        "sha256": sha256,
    }
    receipt = {
        "type": "openknowledge.evidence-receipt",
        "version": 1,
        "id": f"okf+sha256://{sha256}",
        "sha256": sha256,
        "bytes": len(_TERMS.encode()),
        "mediaType": "text/plain; charset=utf-8",
        "artifact": artifact,
        "originalResource": f"../{SOURCE}",
        "capturedAt": moment,
        "document": PAGE,
        "sourceId": "terms",
    }
    name = sha256_hex("\0".join((PAGE, "terms", f"../{SOURCE}")).encode())[:16]
    texts = {
        "index.md": _INDEX,
        "log.md": _LOG.format_map(values),
        "ontology.md": _ONTOLOGY.format_map(values),
        PAGE: _PAGE.format_map(values),
        SOURCE: _TERMS,
        POLICY: _POLICY.format_map(values),
        CONFIG_NAME: _SETTINGS,
        artifact: _TERMS,
        f"{folder}/receipts/{name}.json": json.dumps(receipt, indent=2) + "\n",
    }
    return {path: text.encode() for path, text in sorted(texts.items())}
