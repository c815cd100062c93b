from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from openknowledge.engine.bundle.bundle import Bundle, bundle_from_files

MakeBundle = Callable[[Mapping[str, str]], Bundle]

PAGES = {
    "index.md": "# Home\n\n* [Tokens](guides/tokens.md)\n* [Keys](guides/keys.md#rotation)\n",
    "guides/tokens.md": (
        "---\ntype: Guide\ntitle: Access tokens\ndescription: What an access token is good for.\n"
        "tags: [identity, token]\nstatus: stable\n"
        "verified: { by: human:ann, at: 2026-01-01T00:00:00Z }\n---\n\n"
        "# Access tokens\n\nA token is signed and short-lived.\n\n"
        "## Lifetime\n\nAn access token lives for fifteen minutes. See [rotation](keys.md#rotation).\n\n"
        "## Audience\n\nThe `aud` claim names one service. Error `NQ-1042` means another one.\n"
    ),
    "guides/keys.md": (
        "---\ntype: Runbook\ntitle: Signing keys\ntags: identity\nstale_after: 2026-02-01T00:00:00Z\n---\n\n"
        "# Signing keys\n\nKeys sign tokens.\n\n"
        "## Rotation\n\nRotate a signing key every ninety days with `rotate_signing_key` or getKeyRing().\n\n"
        "### Emergency\n\nRevoke it at once.\n\n### Planned\n\nAnnounce the new one a day before.\n"
    ),
    "notes/coffee.md": (
        "---\ntype: Note\ntitle: Coffee\n---\n\n# Coffee\n\nThe machine is on the second floor.\n"
    ),
}


@pytest.fixture
def make_bundle() -> MakeBundle:
    def make(files: Mapping[str, str]) -> Bundle:
        return bundle_from_files(Path("/bundle"), [(path, text.encode()) for path, text in files.items()])

    return make


@pytest.fixture
def bundle(make_bundle: MakeBundle) -> Bundle:
    return make_bundle(PAGES)
