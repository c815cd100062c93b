"""The claim ontology as SHACL shapes, so that any SHACL engine can check exported claims.

Each predicate is a target. From it ``[ sh:inversePath rdf:predicate ]`` leads to the claims that use it, so
every constraint is one property shape whose violations name the claim as ``sh:value``.
"""

from __future__ import annotations

from collections.abc import Iterator

from openknowledge.engine.bundle.digests import path_escape
from openknowledge.engine.bundle.instants import format_instant
from openknowledge.engine.claims.factset import FactSet
from openknowledge.engine.claims.model import ENDED, Predicate
from openknowledge.engine.claims.terms import BUILT_IN, OKN

SHAPES = "https://openknowledge.dev/.well-known/shapes/"
_PREFIXES = ("okn", "qudt", "rdf", "sh", "xsd")


def shacl_turtle(facts: FactSet) -> str:
    """Return the shapes of every declared predicate as Turtle, the same for the same ontology and instant.

    Datatype, class of the subject, kind of the object, unit, required scope and deprecation are core SHACL.
    The maximum count is a SPARQL constraint over the claims that are active at the instant of the facts.
    """
    lines = [f"@prefix {prefix}: <{BUILT_IN[prefix]}> ." for prefix in _PREFIXES]
    predicates = facts.ontology.predicates
    for name in sorted(predicates):
        lines += ["", *_shape(predicates[name], facts)]
    return "\n".join(lines) + "\n"


def shape_iri(predicate: str, constraint: str, detail: str = "") -> str:
    """Return the IRI of the shape of one constraint on a predicate."""
    tail = f"/{path_escape(detail)}" if detail else ""
    return f"{SHAPES}{path_escape(predicate)}/{constraint}{tail}"


def _shape(predicate: Predicate, facts: FactSet) -> Iterator[str]:
    expand = facts.terms.expand
    shapes: list[tuple[str, str]] = []

    def add(constraint: str, message: str, body: str, detail: str = "") -> None:
        iri = shape_iri(predicate.id, constraint, detail)
        text = (
            f"<{iri}>\n    sh:path [ sh:inversePath rdf:predicate ] ;\n"
            f"    sh:message {_string(message)} ;\n    sh:node [ {body} ] ."
        )
        shapes.append((iri, text))

    name = predicate.id
    if predicate.datatype:
        body = f"sh:property [ sh:path rdf:object ; sh:datatype <{expand(predicate.datatype)}> ]"
        add("datatype", f"the object of {name} must have datatype {predicate.datatype}", body)
    if predicate.subject_types:
        classes = " ".join(f"[ sh:class <{expand(kind)}> ]" for kind in predicate.subject_types)
        body = f"sh:property [ sh:path rdf:subject ; sh:or ( {classes} ) ]"
        add("class", f"the subject of {name} must be one of {', '.join(predicate.subject_types)}", body)
    if predicate.object_kind == "entity":
        body = "sh:property [ sh:path rdf:object ; sh:nodeKind sh:IRI ]"
        add("object-kind", f"the object of {name} must be an entity", body)
    elif predicate.object_kind == "literal":
        body = "sh:property [ sh:path rdf:object ; sh:nodeKind sh:Literal ]"
        add("object-kind", f"the object of {name} must be a literal", body)
    elif predicate.object_kind == "quantity":
        body = (
            "sh:property [ sh:path qudt:unit ; sh:minCount 1 ] , "
            "[ sh:path qudt:hasQuantityKind ; sh:minCount 1 ]"
        )
        add("object-kind", f"the object of {name} must be a quantity with its unit", body)
    if predicate.canonical_unit:
        body = f"sh:property [ sh:path qudt:unit ; sh:hasValue <{expand(predicate.canonical_unit)}> ]"
        add("unit", f"the unit of {name} must be {predicate.canonical_unit}", body)
    if predicate.quantity_kind:
        value = f"<{expand(predicate.quantity_kind)}>"
        body = f"sh:property [ sh:path qudt:hasQuantityKind ; sh:hasValue {value} ]"
        add("quantity-kind", f"the quantity kind of {name} must be {predicate.quantity_kind}", body)
    for dimension in predicate.required_scope:
        qualified = f"[ sh:path okn:scopeDimension ; sh:hasValue <{expand(dimension)}> ]"
        body = (
            f"sh:property [ sh:path okn:scope ; sh:qualifiedValueShape [ sh:property {qualified} ] ; "
            "sh:qualifiedMinCount 1 ]"
        )
        add("required-scope", f"{name} needs the scope dimension {dimension}", body, dimension)
    body = "sh:property [ sh:path ( rdf:subject okn:deprecated ) ; sh:maxCount 0 ]"
    add("deprecated", f"the subject of {name} must not be deprecated", body)
    if predicate.maximum_count:
        shapes.append(_maximum(predicate, facts))
    yield f"<{shape_iri(name, 'claims')}>"
    yield "    a sh:NodeShape ;"
    yield f"    sh:targetNode <{expand(name)}> ;"
    yield "    sh:property " + " ,\n        ".join(f"<{iri}>" for iri, _ in shapes) + " ."
    for _, text in shapes:
        yield text


def _maximum(predicate: Predicate, facts: FactSet) -> tuple[str, str]:
    iri = shape_iri(predicate.id, "maximum-count")
    query = _MAXIMUM.replace("{maximum}", str(predicate.maximum_count)).replace(
        "{active}", _active("?value", facts)
    )
    query = query.replace("{other_active}", _active("?other", facts))
    message = f"{predicate.id} has more than {predicate.maximum_count} different objects at once"
    text = (
        f"<{iri}>\n    sh:path [ sh:inversePath rdf:predicate ] ;\n"
        f"    sh:sparql [\n        sh:message {_string(message)} ;\n"
        f'        sh:select """{query}""" ] .'
    )
    return iri, text


def _active(claim: str, facts: FactSet) -> str:
    ended = ", ".join(_string(status) for status in ENDED)
    now = f'"{format_instant(facts.now)}"^^<{BUILT_IN["xsd"]}dateTime>'
    name = claim[1:]
    return (
        f"{claim} <{OKN}status> ?{name}Status . FILTER(?{name}Status NOT IN ({ended})) "
        f"FILTER NOT EXISTS {{ {claim} <{OKN}validFrom> ?{name}From . "
        f"FILTER({_instant(f'?{name}From')} > {now}) }} "
        f"FILTER NOT EXISTS {{ {claim} <{OKN}validUntil> ?{name}Until . "
        f"FILTER({_instant(f'?{name}Until')} <= {now}) }}"
    )


def _instant(variable: str) -> str:
    xsd = BUILT_IN["xsd"]
    midnight = f'STRDT(CONCAT(STR({variable}), "T00:00:00Z"), <{xsd}dateTime>)'
    return f"IF(DATATYPE({variable}) = <{xsd}date>, {midnight}, {variable})"


_MAXIMUM = f"""
            SELECT $this ?value WHERE {{
              ?value <{BUILT_IN["rdf"]}predicate> $this .
              {{{{active}}}}
              {{
                SELECT $this ?value (COUNT(DISTINCT ?held) AS ?count) WHERE {{
                  ?value <{BUILT_IN["rdf"]}predicate> $this ; <{BUILT_IN["rdf"]}subject> ?subject ;
                    <{OKN}slot> ?slot .
                  ?other <{BUILT_IN["rdf"]}predicate> $this ; <{BUILT_IN["rdf"]}subject> ?subject ;
                    <{OKN}slot> ?slot ; <{BUILT_IN["rdf"]}object> ?object .
                  OPTIONAL {{ ?other <{OKN}objectDatatype> ?datatype }}
                  OPTIONAL {{ ?other <{BUILT_IN["qudt"]}unit> ?unit }}
                  {{{{other_active}}}}
                  FILTER NOT EXISTS {{
                    ?value <{OKN}scope> ?a . ?a <{OKN}scopeDimension> ?d ; <{BUILT_IN["rdf"]}value> ?v .
                    FILTER NOT EXISTS {{
                      ?other <{OKN}scope> ?b . ?b <{OKN}scopeDimension> ?d ; <{BUILT_IN["rdf"]}value> ?v .
                    }}
                  }}
                  FILTER NOT EXISTS {{
                    ?other <{OKN}scope> ?e . ?e <{OKN}scopeDimension> ?f ; <{BUILT_IN["rdf"]}value> ?w .
                    FILTER NOT EXISTS {{
                      ?value <{OKN}scope> ?g . ?g <{OKN}scopeDimension> ?f ; <{BUILT_IN["rdf"]}value> ?w .
                    }}
                  }}
                  BIND(CONCAT(STR(?object), " ", STR(DATATYPE(?object))) AS ?typed)
                  BIND(CONCAT(COALESCE(?typed, STR(?object)), " ", COALESCE(STR(?unit), "")) AS ?held)
                }} GROUP BY $this ?value
              }}
              FILTER(?count > {{maximum}})
            }}
        """


def _string(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'
