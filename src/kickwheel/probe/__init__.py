"""The probe: a linear model on frozen text features. Baseline, independent labeller and guide of acquisition in one."""

from kickwheel.probe.linear_probe import Probe

__all__ = ["Probe"]
