"""Lessons and labs: notebooks, tasks that check themselves, predictions, progress, the instructor's report.

`Lesson` opens a notebook, `Lab` a lab; `Checks`, `Facts` and `Wrong` are what a lab's check file is written with.
"""

from kitlib.lab.checks import Checks, Experiment, Facts, Wrong
from kitlib.lab.lab import Lab
from kitlib.lab.lesson import Lesson
from kitlib.lab.prediction import Prediction, Verdict
from kitlib.lab.progress import Progress

__all__ = ["Checks", "Experiment", "Facts", "Lab", "Lesson", "Prediction", "Progress", "Verdict", "Wrong"]
