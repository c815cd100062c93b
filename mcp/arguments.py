"""Reads the arguments of a tool strictly, and says in words what is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from openknowledge.engine import limits
from openknowledge.mcp.errors import ToolFailure, invalid_params

if TYPE_CHECKING:
    from openknowledge.schemas.mcp import (
        Arguments,
        ClaimsFindArguments,
        ClaimsImpactArguments,
        ClaimsProposeArguments,
        QueryArguments,
        SearchArguments,
    )
    from pydantic_core import ErrorDetails

Model = TypeVar("Model", bound="Arguments")

_REASONS = 8
_REASON_RUNES = 300
_DECODE = frozenset({"extra_forbidden", "null"})
"""Kinds of errors that are about what a field is; those about types end in ``_type``."""


class BadArguments(Exception):
    """What is wrong: ``decoding`` when a field is unknown or has the wrong type."""

    def __init__(self, reason: str, *, decoding: bool) -> None:
        super().__init__(reason)
        self.reason = reason
        self.decoding = decoding


def decode(model: type[Model], arguments: Mapping[str, Any]) -> Model:
    """Return ``arguments`` as a ``model``. Raises ``BadArguments``."""
    from pydantic import ValidationError

    if (place := _null_in(arguments)) is not None:
        raise BadArguments(f"{place}: must not be null; leave it out", decoding=True)
    try:
        return model.model_validate(arguments)
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False, include_context=False)
    decoding = any(_is_decoding(item) for item in details)
    wanted = [item for item in details if _is_decoding(item)] if decoding else details
    lines = list(dict.fromkeys(_reason(item) for item in wanted))
    more = [f"and {len(lines) - _REASONS} more"] if len(lines) > _REASONS else []
    raise BadArguments("; ".join([*lines[:_REASONS], *more]), decoding=decoding)


def _is_decoding(item: ErrorDetails) -> bool:
    return item["type"] in _DECODE or item["type"].endswith("_type")


def _null_in(value: Any, place: str = "") -> str | None:
    """Return where there is a null in ``value``."""
    items: Any = ()
    if isinstance(value, Mapping):
        items = value.items()
    elif isinstance(value, Sequence) and not isinstance(value, str):
        items = enumerate(value)
    for name, item in items:
        here = _cut(f"{place}.{name}" if place else str(name))
        if item is None:
            return here
        if (found := _null_in(item, here)) is not None:
            return found
    return None


def _reason(item: ErrorDetails) -> str:
    # the members of a union are named by their types in the location; a client does not know these
    place = ".".join(
        str(part) for part in item["loc"] if part not in ("str", "bool", "int", "float", "constrained-str")
    )
    kind, message = item["type"], item["msg"].removeprefix("Value error, ")
    if kind == "extra_forbidden":
        message = "unknown field"
    elif kind == "missing":
        message = "is required"
    else:
        message = message.removeprefix("Input ")
    return _cut(f"{place}: {message}" if place else message)


def _cut(text: str) -> str:
    return text if len(text) <= _REASON_RUNES else text[: _REASON_RUNES - 3] + "..."


def required(model: type[Model], arguments: Mapping[str, Any]) -> Model:
    """Return ``arguments`` as a ``model``. Raises ``Refusal`` (invalid params) for anything that is wrong."""
    try:
        return decode(model, arguments)
    except BadArguments as error:
        raise invalid_params(error.reason) from None


def _within_bytes(arguments: Any, limit: int, *path: str) -> None:
    """Raise ``Refusal`` for a text of too many bytes, before the model counts its characters."""
    for name in path:
        arguments = arguments.get(name) if isinstance(arguments, Mapping) else None
    if isinstance(arguments, str) and (size := len(arguments.encode())) > limit:
        raise invalid_params(f"{'.'.join(path)}: has {size} bytes in UTF-8; at most {limit} are accepted")


def search_arguments(arguments: Mapping[str, Any]) -> SearchArguments:
    """Return the arguments of a search, with defaults. Raises ``Refusal``."""
    from openknowledge.schemas.mcp import DEFAULT_BUDGET, DEFAULT_LIMIT, SearchArguments

    given = required(SearchArguments, arguments)
    query = given.query.strip()
    if not query:
        raise invalid_params("query: must not be blank")
    return given.model_copy(
        update={
            "query": query,
            "budget": given.budget or DEFAULT_BUDGET,
            "limit": given.limit or DEFAULT_LIMIT,
        }
    )


def query_arguments(arguments: Mapping[str, Any]) -> QueryArguments:
    """Return the arguments of a query; blank routes count as not given. Raises ``Refusal``."""
    from openknowledge.schemas.mcp import DEFAULT_LIMIT, QueryArguments

    _within_bytes(arguments, limits.QUERY_BYTES, "sparql")
    _within_bytes(arguments, limits.DATALOG_QUERY_BYTES, "datalog", "query")
    _within_bytes(arguments, limits.RULE_BYTES, "datalog", "rules")
    given = required(QueryArguments, arguments)
    text = given.text.strip()
    sparql = given.sparql if given.sparql.strip() else ""
    if given.datalog is not None and not given.datalog.query.strip():
        raise invalid_params("datalog.query: must not be blank")
    if not text and not sparql and given.datalog is None:
        raise invalid_params("give at least one of text, sparql and datalog")
    return given.model_copy(update={"text": text, "sparql": sparql, "limit": given.limit or DEFAULT_LIMIT})


def find_arguments(arguments: Mapping[str, Any]) -> ClaimsFindArguments:
    """Return the arguments of a look-up of claims. Raises ``Refusal``."""
    from openknowledge.schemas.mcp import ClaimsFindArguments

    return required(ClaimsFindArguments, arguments)


def impact_arguments(arguments: Mapping[str, Any]) -> ClaimsImpactArguments:
    """Return the arguments of a question for what depends on a claim. Raises ``Refusal``."""
    from openknowledge.schemas.mcp import ClaimsImpactArguments

    _within_bytes(arguments, limits.CLAIM_ID_BYTES, "claimId")
    given = required(ClaimsImpactArguments, arguments)
    if not given.claim_id.strip():
        raise invalid_params("claimId: must not be blank")
    return given


def propose_arguments(arguments: Mapping[str, Any]) -> ClaimsProposeArguments:
    """Return a proposal.

    Raises ``Refusal`` for unknown fields and wrong types, and ``ToolFailure``, which an agent can read and
    act upon, for a proposal that is incomplete or out of bounds.
    """
    from openknowledge.schemas.mcp import ClaimsProposeArguments

    try:
        return decode(ClaimsProposeArguments, arguments)
    except BadArguments as error:
        if error.decoding:
            raise invalid_params(error.reason) from None
        raise ToolFailure(f"the proposal is not complete: {error.reason}") from None
