"""Lessons and labs: notebooks, tasks that check themselves, predictions, progress, the instructor's report.

`Lesson` opens a notebook, `Lab` a lab; a lab's check file uses `Checks`, `Facts` and `Wrong`. `pod` and similar
functions return manifests, `table` shows rows.

Imported by workshop and commands.
Face: `Lesson`, `Lab`, `Checks`.
"""

from kitlib.lab.checks import Checks, Facts, Wrong
from kitlib.lab.experiment import Experiment
from kitlib.lab.lab import Lab
from kitlib.lab.lesson import Lesson
from kitlib.lab.manifests import (
    container,
    deployment,
    disruption_budget,
    horizontal_autoscaler,
    limit_range,
    pod,
    priority_class,
    quota,
    resources,
    spread,
)
from kitlib.lab.pictures import pod_picture
from kitlib.lab.prediction import Prediction, Verdict
from kitlib.lab.progress import Progress
from kitlib.lab.readings import (
    adjustment_of,
    arrival,
    back_off,
    burst_times,
    cpu_mask,
    cpu_stat,
    cpu_used,
    failed,
    file_names,
    kill_log,
    log_rows,
    memory_parts,
    memory_used,
    oom_scores,
    phases,
    placed,
    pod_cgroup,
    pressure_of,
    quota_of,
    quota_periods,
    swap_parts,
    try_write,
    wait_until_running,
    watch_eviction,
    watch_memory,
)
from kitlib.lab.tables import short, table

__all__ = [
    "Checks",
    "Experiment",
    "Facts",
    "Lab",
    "Lesson",
    "Prediction",
    "Progress",
    "Verdict",
    "Wrong",
    "adjustment_of",
    "arrival",
    "back_off",
    "burst_times",
    "container",
    "cpu_mask",
    "cpu_stat",
    "cpu_used",
    "deployment",
    "disruption_budget",
    "failed",
    "file_names",
    "horizontal_autoscaler",
    "kill_log",
    "limit_range",
    "log_rows",
    "memory_parts",
    "memory_used",
    "oom_scores",
    "phases",
    "placed",
    "pod",
    "pod_cgroup",
    "pod_picture",
    "pressure_of",
    "priority_class",
    "quota",
    "quota_of",
    "quota_periods",
    "resources",
    "short",
    "spread",
    "swap_parts",
    "table",
    "try_write",
    "wait_until_running",
    "watch_eviction",
    "watch_memory",
]
