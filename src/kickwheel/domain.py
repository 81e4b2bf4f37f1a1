"""Domains: load one, check one, start one.

A **domain** is a folder: ``domain.yaml``, requirement documents, labelled seeds, an unlabelled pool, the splits ``valid``
(thresholds, calibration, gates) and ``eval`` (reporting only), and if need be a reviewer's answers, recorded feedback,
expected mappings, a glossary and knowledge facts.
"""

from __future__ import annotations

from kickwheel.domain_check import check_domain, notes_of
from kickwheel.domain_folder import SPLITS, Domain, Split, load_domain
from kickwheel.domain_scaffold import scaffold_domain

__all__ = ["SPLITS", "Domain", "Split", "check_domain", "load_domain", "notes_of", "scaffold_domain"]
