"""A first picture loads plotly without nbformat, and plotly's own ways of showing a figure still work."""

import importlib.util
import subprocess
import sys

import pytest

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(importlib.util.find_spec("nbformat") is None, reason="needs nbformat"),
]

PICTURE = """
import sys
from kitlib.charts import usage_chart, Chart
import plotly.graph_objects as go
chart = Chart("t", "s", {"a": [1]}, lambda: go.Figure())
figure = chart.figure()
print("nbformat" in sys.modules, "jsonschema" in sys.modules)
"""
SHOWN = """
import plotly.io
from IPython.core.interactiveshell import InteractiveShell
InteractiveShell.instance()
figure.show(renderer="plotly_mimetype")
import nbformat
print(nbformat.v4.new_notebook().nbformat)
"""
WIDGET = """
import sys
from kitlib.widgets import PodBuilder
print("nbformat" in sys.modules)
"""


def run(code: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_chart_loads_neither_nbformat_nor_what_that_loads() -> None:
    assert run(PICTURE)[-1] == "False False"


def test_a_widget_neither() -> None:
    assert run(WIDGET)[-1] == "False"


def test_a_figure_can_be_shown_by_plotly_itself_and_nbformat_be_imported_afterwards() -> None:
    assert run(PICTURE + SHOWN)[-1] == "4"
