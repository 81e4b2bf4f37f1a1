"""Versions of a domain's tasks: published schemas in ``registry/``, what changed since, and labels that follow a change.

Everything is text in the domain's folder, so that a review of a changed requirement shows what it does to tasks and labels.
"""

from __future__ import annotations

from kickwheel.registry.published import published_versions

__all__ = ["published_versions"]
