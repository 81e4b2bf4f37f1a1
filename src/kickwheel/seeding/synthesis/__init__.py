"""Synthesis: rows written for what the labelled ones do not cover. See docs/seeding.md, "Synthesis"."""
