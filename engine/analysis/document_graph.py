"""The graph of a bundle's pages: nodes are pages, edges are links, sources and claim references."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, Literal

from openknowledge.engine.bundle.bundle import Bundle
from openknowledge.engine.errors import UsageError
from openknowledge.engine.facts.compile import source_page

if TYPE_CHECKING:
    import networkx as nx
    from openknowledge.schemas.graph import DocumentGraph, GraphEdge, GraphNode

GraphFormat = Literal["json", "graphml", "dot"]
GRAPH_FORMATS: tuple[GraphFormat, ...] = ("json", "graphml", "dot")


def document_graph(bundle: Bundle) -> DocumentGraph:
    """Return the pages of ``bundle`` and how they depend on each other.

    An edge ``link`` counts the links from one page to another; ``source`` says that a page cites another one
    in its ``sources``. ``broken`` lists links to paths where nothing is.
    """
    nodes: list[GraphNode] = []
    counts: dict[tuple[str, str, str], int] = {}
    broken: list[dict[str, Any]] = []
    for document in bundle.documents:
        node: GraphNode = {
            "id": document.id,
            "path": document.path,
            "kind": document.kind,
            "title": document.title,
            "sections": len(document.sections),
        }
        if document.type:
            node["type"] = document.type
        nodes.append(node)
        for link, target in bundle.local_links(document):
            page = bundle.by_path.get(target.path)
            if page is not None:
                key = (document.id, page.id, "link")
                counts[key] = counts.get(key, 0) + 1
            elif not target.exists:
                line, column = link.at
                broken.append({"source": document.id, "target": target.path, "line": line, "column": column})
        for source in document.metadata.sources:
            cited = source_page(bundle, document, source.resource)
            if cited is not None:
                key = (document.id, cited.id, "source")
                counts[key] = counts.get(key, 0) + 1
    edges: list[GraphEdge] = [
        {"source": source, "target": target, "kind": kind, "count": count}
        for (source, target, kind), count in sorted(counts.items())
    ]
    return {
        "schemaVersion": "1",
        "root": str(bundle.root),
        "revision": {"specVersion": bundle.spec, "indexSha256": bundle.index_sha256},
        "nodes": nodes,
        "edges": edges,
        "broken": broken,
    }


def to_networkx(graph: DocumentGraph) -> nx.MultiDiGraph[str]:
    """Return the graph for further analysis; node and edge attributes as in the JSON."""
    import networkx as nx

    result: nx.MultiDiGraph[str] = nx.MultiDiGraph()
    for node in graph["nodes"]:
        result.add_node(node["id"], **{name: value for name, value in node.items() if name != "id"})
    for edge in graph["edges"]:
        result.add_edge(
            edge["source"], edge["target"], key=edge["kind"], kind=edge["kind"], count=edge["count"]
        )
    return result


def serialize_graph(graph: DocumentGraph, graph_format: GraphFormat) -> bytes:
    """Return ``graph`` as GraphML or DOT.

    Raises ``UsageError`` for another format.
    """
    if graph_format == "graphml":
        import networkx as nx

        out = io.BytesIO()
        nx.write_graphml(_xml_safe(to_networkx(graph)), out, encoding="utf-8", prettyprint=True)
        return out.getvalue() + b"\n"
    if graph_format == "dot":
        return _dot(graph).encode()
    raise UsageError(f"unknown graph format {graph_format!r}; choose one of {', '.join(GRAPH_FORMATS)}")


def _xml_safe(graph: nx.MultiDiGraph[str]) -> nx.MultiDiGraph[str]:
    """Replace the characters that XML cannot hold, which file names and titles may have."""
    import networkx as nx

    names = {node: _xml_text(node) for node in graph}
    safe: nx.MultiDiGraph[str] = nx.relabel_nodes(graph, names)
    for _, data in safe.nodes(data=True):
        for name, value in data.items():
            data[name] = _xml_text(value) if isinstance(value, str) else value
    return safe


def _xml_text(text: str) -> str:
    return "".join(
        [character if character >= " " or character in "\t\n\r" else "\ufffd" for character in text]
    )


def _dot(graph: DocumentGraph) -> str:
    lines = ["digraph bundle {", "  rankdir=LR;", "  node [shape=box];"]
    for node in graph["nodes"]:
        lines.append(f"  {_quoted(node['id'])} [label={_quoted(node['title'])}];")
    for edge in graph["edges"]:
        style = " [style=dashed]" if edge["kind"] == "source" else ""
        lines.append(f"  {_quoted(edge['source'])} -> {_quoted(edge['target'])}{style};")
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
