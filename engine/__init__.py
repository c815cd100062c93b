"""The engine of Open Knowledge: bundles of Markdown compiled to facts, and every answer that comes from them.

>>> from openknowledge.engine import Store
>>> store = Store.open("corpora/identity")
>>> store.validate()["summary"]["status"]  # doctest: +SKIP
'fail'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from openknowledge.engine.version import __version__

if TYPE_CHECKING:
    from openknowledge.engine.errors import LimitError, OpenKnowledgeError, TextError, UsageError
    from openknowledge.engine.store import Store

__all__ = ["LimitError", "OpenKnowledgeError", "Store", "TextError", "UsageError", "__version__"]

_HOMES = {
    "Store": "openknowledge.engine.store",
    "LimitError": "openknowledge.engine.errors",
    "OpenKnowledgeError": "openknowledge.engine.errors",
    "TextError": "openknowledge.engine.errors",
    "UsageError": "openknowledge.engine.errors",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used, so that asking for the version stays cheap."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
