"""Contracts that the stages exchange: frozen, versioned, documented.

A leaf package: it imports the standard library and pydantic, nothing else. A change of shape starts here
and shows up in ``tests/contracts/snapshots``.
"""
