"""The rooms of the house, read from the folders of kitlib, so that tests include new rooms automatically."""

from __future__ import annotations

from pathlib import Path

KITLIB = Path(__file__).parents[1] / "kitlib"
ACTS = {
    "advisor/live_cluster.py": "reads a real cluster",
    "apiserver/http": "sockets and threads",
    "charts": "plotly",
    "cluster": "threads, processes and containers",
    "commands": "processes and threads",
    "lab": "processes and files",
    "node/kubernetes": "sockets",
    "node/real": "processes, sockets and files of the kernel",
    "study/line_process.py": "processes",
    "study/sweeps/dask_cluster.py": "sockets",
    "study/sweeps/processes.py": "processes",
    "study/sweeps/worker.py": "threads",
    "views": "rich and IPython",
    "widgets": "ipywidgets",
    "workshop": "JupyterHub",
}
"""A part of kitlib that does more than compute -> what it uses; every other part runs in a browser."""
USES_NUMPY = {"advisor", "conformance", "controllers", "examples", "scheduler", "study"}
"""Pure rooms that need numpy, themselves or through what they import."""


def rooms() -> list[str]:
    """Return the packages directly in kitlib."""
    return sorted(path.parent.name for path in KITLIB.glob("*/__init__.py"))


def pure_rooms() -> list[str]:
    """Return the rooms that only compute, whole or in part."""
    return [room for room in rooms() if room not in ACTS]


def pure_files(room: str) -> list[Path]:
    """Return the Python files of a room that only compute."""
    files = sorted((KITLIB / room).rglob("*.py"))
    return [path for path in files if not any(path.relative_to(KITLIB).is_relative_to(part) for part in ACTS)]
