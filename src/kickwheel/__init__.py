"""Kickwheel: a flywheel for LLM task understanding that starts from rest."""

__version__ = "0.1.0"
