"""Stage 1: requirement documents become executable tasks, each statement mapped or rejected with a question."""

from __future__ import annotations

from kickwheel.intent.glossary import Glossary, load_glossary
from kickwheel.intent.mapping import map_requirements

__all__ = ["Glossary", "load_glossary", "map_requirements"]
