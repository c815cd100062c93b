"""Terms and namespaces: one canonical form for each IRI, whichever way a page writes it.

A term is an absolute IRI (``http://``, ``https://``, ``urn:``) or a CURIE with a declared prefix. Its
canonical form is the CURIE with the longest declared namespace, else the IRI itself; two terms are one
exactly when their expanded IRIs are equal, which is when their canonical forms are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from openknowledge.engine.bundle.slugs import WHITESPACE

RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS: Final = "http://www.w3.org/2000/01/rdf-schema#"
XSD: Final = "http://www.w3.org/2001/XMLSchema#"
SKOS: Final = "http://www.w3.org/2004/02/skos/core#"
PROV: Final = "http://www.w3.org/ns/prov#"
SH: Final = "http://www.w3.org/ns/shacl#"
OA: Final = "http://www.w3.org/ns/oa#"
TIME: Final = "http://www.w3.org/2006/time#"
QUDT: Final = "http://qudt.org/schema/qudt/"
UNIT: Final = "http://qudt.org/vocab/unit/"
QUANTITY_KIND: Final = "http://qudt.org/vocab/quantitykind/"
OKN: Final = "https://openknowledge.dev/ns/"

BUILT_IN: Mapping[str, str] = {
    "rdf": RDF,
    "rdfs": RDFS,
    "xsd": XSD,
    "skos": SKOS,
    "prov": PROV,
    "sh": SH,
    "oa": OA,
    "time": TIME,
    "qudt": QUDT,
    "unit": UNIT,
    "quantitykind": QUANTITY_KIND,
    "okn": OKN,
}
ABSOLUTE = ("http://", "https://", "urn:")
RESERVED_PREFIXES = frozenset({"http", "https", "urn"})

_PREFIX = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*\Z")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_PLAIN_IRI = re.compile(
    r"(?:https?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?(?:[/?][A-Za-z0-9._~:/?@!$&'()*+,;=-]*)?"
    r"|urn:[A-Za-z0-9._~:/?@!$&'()*+,;=-]*)(?:#[A-Za-z0-9._~:/?@!$&'()*+,;=-]*)?"
).fullmatch
_PLAIN_LOCAL = re.compile(r"[A-Za-z0-9._~:/?@!$&'()*+,;=-]+").fullmatch
_FORBIDDEN = re.compile('[\x00-\x20<>"{}|^`\\\\\x7f-\x9f\ud800-\udfff]')


def is_iri(text: str) -> bool:
    """Whether ``text`` is an absolute IRI that an RDF store accepts (RFC 3987)."""
    if _PLAIN_IRI(text) is not None:
        return True
    if _FORBIDDEN.search(text) or not _SCHEME.match(text):
        return False
    from pyoxigraph import NamedNode

    try:
        NamedNode(text)
    except ValueError:
        return False
    return True


def is_prefix(text: str) -> bool:
    """Whether ``text`` can be declared as a namespace prefix."""
    return _PREFIX.match(text) is not None and text.lower() not in RESERVED_PREFIXES


class _Canonical(dict[str, str]):
    """Canonical forms by term as written, found when first asked for; ``""`` for what is no term.

    ``plain`` are the prefixes to whose namespace plain characters can be added without another look: the
    result is an IRI, and no other namespace begins with theirs.
    """

    def __init__(self, terms: Namespaces, plain: frozenset[str]) -> None:
        super().__init__()
        self._terms = terms
        self._plain = plain

    def __missing__(self, term: str) -> str:
        prefix, _, rest = term.partition(":")
        if prefix in self._plain and _PLAIN_LOCAL(rest) is not None:
            self[term] = term
            return term
        found = self[term] = self._terms._find(term)
        return found


class Namespaces:
    """The built-in and the declared namespaces of a bundle.

    ``canonical[term]`` is the canonical form of a trimmed term, ``""`` for anything that is not a term.
    """

    __slots__ = ("_iris", "_longest", "_rivals", "by_prefix", "canonical")

    def __init__(self, declared: Mapping[str, str] | None = None) -> None:
        self.by_prefix: dict[str, str] = {**BUILT_IN, **(declared or {})}
        # longest namespace first; of two prefixes for one namespace a built-in, then the first by name
        self._longest = sorted(
            ((iri, prefix) for prefix, iri in self.by_prefix.items()),
            key=lambda pair: (-len(pair[0]), pair[1] not in BUILT_IN, pair[1]),
        )
        self._rivals = {
            prefix: any(
                other != prefix and other_iri.startswith(iri) for other, other_iri in self.by_prefix.items()
            )
            for prefix, iri in self.by_prefix.items()
        }
        plain = frozenset(
            prefix
            for prefix, iri in self.by_prefix.items()
            if not self._rivals[prefix] and iri.endswith(("/", "#")) and _PLAIN_IRI(iri) is not None
        )
        self.canonical: dict[str, str] = _Canonical(self, plain)
        self._iris: dict[str, str] = {}

    def expand(self, term: str) -> str:
        """Return the IRI of a canonical or any other valid term."""
        iri = self._iris.get(term)
        if iri is None:
            prefix, colon, rest = term.partition(":")
            namespace = self.by_prefix.get(prefix)
            iri = namespace + rest if namespace is not None and colon else term
            self._iris[term] = iri
        return iri

    def compact(self, iri: str) -> str:
        """Return the canonical form of an absolute IRI."""
        for namespace, prefix in self._longest:
            if iri.startswith(namespace):
                return f"{prefix}:{iri[len(namespace) :]}"
        return iri

    def index_of(self, term: str, written: Sequence[object]) -> int:
        """Return where a list as written has the canonical ``term``, in whichever spelling; 0 if nowhere."""
        for number, text in enumerate(written):
            if isinstance(text, str) and self.canonical[text.strip(WHITESPACE)] == term:
                return number
        return 0

    def items(self) -> list[tuple[str, str]]:
        """Return prefix and IRI of every namespace in the order of the prefixes."""
        return sorted(self.by_prefix.items())

    def _find(self, term: str) -> str:
        prefix, colon, rest = term.partition(":")
        namespace = self.by_prefix.get(prefix) if colon else None
        if namespace is not None:
            iri = namespace + rest
            if not rest or not is_iri(iri):
                return ""
            return self.compact(iri) if self._rivals[prefix] else term
        if not term.startswith(ABSOLUTE) or term in ABSOLUTE or not is_iri(term):
            return ""
        return self.compact(term)
