"""After a cell the messages of what it made go where the page wants them; without Jupyter nothing is asked."""

from __future__ import annotations

from types import SimpleNamespace

import comm
import pytest
from IPython.core import getipython

from kitlib.widgets._parts import beside_cells


def test_after_a_cell_no_comm_remembers_who_wrote_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {"post_run_cell": []}
    shell = SimpleNamespace(events=SimpleNamespace(register=lambda event, call: kept[event].append(call)))
    written, other = SimpleNamespace(_reply_subshell_id=None, _request="a"), SimpleNamespace()
    monkeypatch.setattr(getipython, "get_ipython", lambda: shell)
    monkeypatch.setattr(comm, "get_comm_manager", lambda: SimpleNamespace(comms={"1": written, "2": other}))
    beside_cells.answer_beside_cells()
    [hook] = kept["post_run_cell"]
    hook(SimpleNamespace())
    assert vars(written) == {"_request": "a"}
    assert vars(other) == {}


def test_without_jupyter_nothing_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(getipython, "get_ipython", lambda: None)
    beside_cells.answer_beside_cells()
