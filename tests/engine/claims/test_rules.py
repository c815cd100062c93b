"""The claim rules over the base relations of claims, against what Python works out on its own."""

from __future__ import annotations
