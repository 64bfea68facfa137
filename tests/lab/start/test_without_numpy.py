"""The start page works where numpy, pandas and plotly cannot be had, as in a browser without network."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

CODE = """
import sys
for name in ("numpy", "pandas", "plotly"):
    sys.modules[name] = None
from kitlib.api.errors import KitError
from kitlib.cluster import Cluster
from kitlib.lab.start.page import make_page
page = make_page("simulated")
for message in ({"kind": "hello"}, {"kind": "guess", "value": "db"}, {"kind": "run"}, {"kind": "limit", "value": 300}):
    page._heard(page, message, [])
    assert not page.problem, page.problem
print(page.outcome["killed"], page.reading["quota"])
try:
    Cluster.simulated(1).apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"},
                                "spec": {"containers": [{"name": "c", "image": "x"}]}})
except KitError as error:
    print(error)
"""


def test_the_start_page_runs_and_the_scheduler_says_what_is_missing(tmp_path: Path) -> None:
    settings = {**os.environ, "KITLIB_PROGRESS": str(tmp_path)}
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, timeout=120, env=settings, cwd=root
    )
    assert done.returncode == 0, done.stderr[-2000:]
    first, second = done.stdout.splitlines()
    assert first == "cache 30000"
    assert second.startswith("the scheduler requires numpy, which cannot be imported")
