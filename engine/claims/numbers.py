"""Numbers as text, in the two forms that other implementations of the claim profile write."""

from __future__ import annotations


def json_number(value: int | float) -> str:
    """Return the JSON text of a number: shortest digits, an exponent only below 1e-6 and from 1e21.

    The number formatting of ECMA-262 (Number::toString), as most JSON writers have it.
    """
    if isinstance(value, int):
        return str(value)
    sign, digits, exponent = _shortest(value)
    if -7 < exponent < 21:
        return sign + _plain(digits, exponent)
    return f"{sign}{_scientific(digits)}e{'-' if exponent < 0 else '+'}{abs(exponent)}"


def rdf_number(value: int | float) -> str:
    """Return the lexical form of a number in RDF: an exponent when it is below -4 or at least 6.

    Shortest digits that give the number back; the exponent has at least two digits (``1.2345675e+06``).
    """
    if isinstance(value, int):
        return str(value)
    sign, digits, exponent = _shortest(value)
    if -5 < exponent < 6:
        return sign + _plain(digits, exponent)
    return f"{sign}{_scientific(digits)}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def _shortest(value: float) -> tuple[str, str, int]:
    """Return sign, significant digits and the decimal exponent of the first one."""
    text = repr(value)
    sign = "-" if text[0] == "-" else ""
    mantissa, _, power = text.lstrip("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    exponent = int(power or 0) + len(whole) - 1
    digits = whole + fraction
    leading = len(digits) - len(digits.lstrip("0"))
    digits = digits.strip("0")
    if not digits:
        return sign, "0", 0
    return sign, digits, exponent - leading


def _plain(digits: str, exponent: int) -> str:
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + digits
    point = exponent + 1
    if len(digits) <= point:
        return digits + "0" * (point - len(digits))
    return f"{digits[:point]}.{digits[point:]}"


def _scientific(digits: str) -> str:
    return digits if len(digits) == 1 else f"{digits[0]}.{digits[1:]}"
