"""How good a student is, and whether one is better than another."""

from kickwheel.evaluation.metrics import evaluate
from kickwheel.evaluation.significance import mcnemar, wilson

__all__ = ["evaluate", "mcnemar", "wilson"]
