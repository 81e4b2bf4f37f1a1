"""How good a student is, and whether one is better than another."""

from kickwheel.evaluation.calibration import calibrated, calibration_quality, fit_calibration
from kickwheel.evaluation.metrics import evaluate
from kickwheel.evaluation.significance import mcnemar, wilson

__all__ = ["calibrated", "calibration_quality", "evaluate", "fit_calibration", "mcnemar", "wilson"]
