"""Which pool rows are worth a label: how unsure the student is of each, and choices that do not fool themselves."""

from kickwheel.seeding.acquisition.candidates import Candidates
from kickwheel.seeding.acquisition.selection import select
from kickwheel.seeding.acquisition.strategies import STRATEGIES, Strategy
from kickwheel.seeding.acquisition.uncertainty import Scores, Survey, entropy, margin, survey

__all__ = ["STRATEGIES", "Candidates", "Scores", "Strategy", "Survey", "entropy", "margin", "select", "survey"]
