"""Pictures that show the answer to one question, with the learner's guess in purple.

Imported by lab.
Face: one function for each kind of answer. `guess` is a learner's answer; None = no guess.
"""

from kitlib.charts.answers.amounts import Bound, amounts_chart
from kitlib.charts.answers.cpu_sets import cpu_sets_chart
from kitlib.charts.answers.moments import TimePoint, TimeSpan, moments_chart
from kitlib.charts.answers.nested import nested_chart
from kitlib.charts.answers.parts import parts_chart
from kitlib.charts.answers.places import PlaceCard, places_chart
from kitlib.charts.answers.pod import pod_chart
from kitlib.charts.answers.steps import ChainStep, steps_chart

__all__ = [
    "Bound",
    "ChainStep",
    "PlaceCard",
    "TimePoint",
    "TimeSpan",
    "amounts_chart",
    "cpu_sets_chart",
    "moments_chart",
    "nested_chart",
    "parts_chart",
    "places_chart",
    "pod_chart",
    "steps_chart",
]
