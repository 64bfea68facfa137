"""The kit's errors in a notebook: what, where, how to go on; the cell has failed all the same."""

from types import SimpleNamespace
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from kitlib.api.errors import KitError, ManifestError
from kitlib.api.serialize import load
from kitlib.views import error_box
from kitlib.views.error_box import error_html, error_text, install

BAD = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n spec: {}\n"


def test_yaml_is_shown_with_a_caret_below_the_place():
    with pytest.raises(ManifestError) as caught:
        load(BAD)
    lines = caught.value.excerpt.splitlines()
    assert lines[-2].startswith("   5 |  spec: {}")
    assert lines[-1].index("^") >= len("     | ")
    assert "a missing colon" in error_text(caught.value)
    assert "^" in error_html(caught.value)


@pytest.mark.parametrize(
    ("text", "mend"),
    [
        ('pods "web" already exists', "another name"),
        ('pods "web" not found', "cluster.pods()"),
        ("spec.replicas: Invalid value: -1: must be greater than or equal to 0", ""),
    ],
)
def test_how_to_go_on_is_said_where_the_message_does_not(text, mend):
    shown = error_text(KitError(text))
    assert shown.startswith(f"KitError: {text}") and mend in shown
    assert (shown.count("\n") == 0) == (mend == "")


def test_what_comes_from_outside_is_escaped():
    assert "<b>x" not in error_html(KitError("<b>x</b>"), "<script>")


def test_a_cell_that_raises_shows_one_box_and_has_failed(monkeypatch, capsys):
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda data, raw: shown.append(data))
    shell = InteractiveShell()
    install(shell)
    done = shell.run_cell("from kitlib.api.errors import KitError\nraise KitError('no node is called x')")
    assert not done.success and isinstance(done.error_in_exec, KitError)
    assert [data["text/plain"] for data in shown] == ["KitError: no node is called x"]
    assert "<details><summary>Traceback" in shown[0]["text/html"] and "Traceback" not in capsys.readouterr().out
    other = shell.run_cell("1 / 0")
    assert isinstance(other.error_in_exec, ZeroDivisionError)
    assert len(shown) == 1 and "ZeroDivisionError" in capsys.readouterr().out


@pytest.mark.parametrize(("platform", "kept"), [("linux", list), ("emscripten", dict)])
def test_the_kernel_gets_the_error_in_the_form_that_it_reads(
    platform: str, kept: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Source: ipykernel ZMQInteractiveShell; pyodide_kernel Interpreter._showtraceback, PyodideKernel.run."""
    monkeypatch.setattr(error_box.sys, "platform", platform)
    monkeypatch.setattr("IPython.display.display", lambda *_, **__: None)
    handlers: list[Any] = []
    error_box.install(SimpleNamespace(set_custom_exc=lambda kinds, show: handlers.append(show)))
    shell = SimpleNamespace()
    handlers[0](shell, KitError, KitError("no"), None)
    assert isinstance(shell._last_traceback, kept)
    if kept is dict:
        assert shell._last_traceback == {"ename": "KitError", "evalue": "no", "traceback": ["KitError: no"]}
