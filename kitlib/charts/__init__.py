"""Pictures from plain data, each with its frame and its sentence; charts do not depend on widgets or clusters.

Imported by widgets, lab and commands.
Face: one module per figure, which returns a `Chart`.
"""

from kitlib.charts.base import Chart
from kitlib.charts.cpu_map import cpu_map
from kitlib.charts.eviction_gauge import eviction_gauge
from kitlib.charts.node_bar import node_bar
from kitlib.charts.oom_ranking import oom_ranking
from kitlib.charts.preemption import preemption_chart
from kitlib.charts.queues import queue_chart
from kitlib.charts.rollout import rollout_chart
from kitlib.charts.scheduler_board import filter_board, score_bars
from kitlib.charts.shares import shares_chart
from kitlib.charts.spread import spread_chart, spread_map
from kitlib.charts.sweep import heat_map, share_bars, small_multiples
from kitlib.charts.throttling import Period, throttling_chart
from kitlib.charts.timeline import timeline_chart
from kitlib.charts.usage import UsageMark, usage_chart

__all__ = [
    "Chart",
    "Period",
    "UsageMark",
    "cpu_map",
    "eviction_gauge",
    "filter_board",
    "heat_map",
    "node_bar",
    "oom_ranking",
    "preemption_chart",
    "queue_chart",
    "rollout_chart",
    "score_bars",
    "share_bars",
    "shares_chart",
    "small_multiples",
    "spread_chart",
    "spread_map",
    "throttling_chart",
    "timeline_chart",
    "usage_chart",
]
