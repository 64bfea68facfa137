"""Values that notebooks read from clusters and nodes, by one name on both cgroup versions.

One module for each subject: cgroup files, CPU time, memory, evictions, and the course of pods.

Imported by lessons and labs.
Face: the functions below, which `kitlib.lab` shows as well.
"""

from kitlib.lab.readings.cgroup_files import FileNames, file_names, pod_cgroup, quota_of, try_write
from kitlib.lab.readings.cpu import burst_times, cpu_mask, cpu_stat, cpu_used, quota_periods
from kitlib.lab.readings.eviction import EvictionWatch, watch_eviction
from kitlib.lab.readings.memory import (
    MemoryWatch,
    adjustment_of,
    kill_log,
    memory_parts,
    memory_used,
    oom_scores,
    pressure_of,
    swap_parts,
    watch_memory,
)
from kitlib.lab.readings.pods import arrival, back_off, failed, log_rows, phases, placed, wait_until_running

__all__ = [
    "EvictionWatch",
    "FileNames",
    "MemoryWatch",
    "adjustment_of",
    "arrival",
    "back_off",
    "burst_times",
    "cpu_mask",
    "cpu_stat",
    "cpu_used",
    "failed",
    "file_names",
    "kill_log",
    "log_rows",
    "memory_parts",
    "memory_used",
    "oom_scores",
    "phases",
    "placed",
    "pod_cgroup",
    "pressure_of",
    "quota_of",
    "quota_periods",
    "swap_parts",
    "try_write",
    "wait_until_running",
    "watch_eviction",
    "watch_memory",
]
