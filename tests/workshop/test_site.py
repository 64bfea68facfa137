"""`kitlib site`: a static JupyterLite site with the course, the kit's wheel and the widgets' front ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kitlib.api.errors import KitError
from kitlib.lab import site
from kitlib.lab.bundle import own_wheel

ROOT = Path(__file__).parents[2]


def test_a_notebook_for_the_browser_installs_the_kit_first_and_names_the_browsers_kernel() -> None:
    path = ROOT / "notebooks" / "01-a-pod-becomes-cgroup-files.ipynb"
    before = json.loads(path.read_text())
    made = site.for_the_browser(before)
    assert made["cells"][0]["source"] == ["%pip install -q kitlib pandas ipywidgets anywidget plotly"]
    assert made["cells"][1:] == before["cells"]
    assert made["metadata"]["kernelspec"]["name"] == "python"
    assert len({cell["id"] for cell in made["cells"]}) == len(made["cells"])


def test_what_is_missing_or_in_the_way_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "NEEDS", ("no_such_package",))
    with pytest.raises(KitError, match=r"no-such-package is not installed: pip install 'kitlib\[site\]'"):
        site.build_site(tmp_path / "site")
    monkeypatch.setattr(site, "NEEDS", ())
    (tmp_path / "mine").write_text("")
    with pytest.raises(KitError, match="holds something else than a site"):
        site.build_site(tmp_path)
    with pytest.raises(KitError, match=r"pyodide.tar.bz2: no such file; a Pyodide distribution"):
        site.build_site(tmp_path / "site", pyodide=tmp_path / "pyodide.tar.bz2")


@pytest.mark.workshop
def test_the_site_holds_course_kit_and_front_ends(tmp_path: Path) -> None:
    environment = Path(os.environ.get("KITLIB_SITE_ENVIRONMENT") or tmp_path / "venv")
    if not environment.is_dir():
        subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    python = str(environment / "bin" / "python")
    wheel = own_wheel(tmp_path)
    for more in (f"{wheel}[site]", "--force-reinstall --no-deps " + str(wheel)):
        command = [python, "-m", "pip", "install", "-q", *more.split()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=560)
        assert done.returncode == 0, done.stderr
    folder = tmp_path / "public"
    for _ in range(2):  # a site may be built again in its place
        done = subprocess.run(
            [str(environment / "bin" / "kitlib"), "site", str(folder)], capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
    assert f"{len(list((ROOT / 'notebooks').glob('*.ipynb'))) + 15} notebooks" in done.stdout
    for room in ("notebooks", "labs"):
        assert {p.name for p in (folder / "files" / room).iterdir()} == {
            p.name for p in (ROOT / room).iterdir() if not p.name.startswith((".", "__"))
        }
    assert not list(folder.rglob("solution"))
    wheels = [p.name for p in folder.rglob("kitlib-*.whl")]
    assert wheels == [wheel.name]
    listed = [p for p in folder.rglob("all.json") if "kitlib" in p.read_text()]
    assert any("kitlib" in json.loads(p.read_text()) for p in listed)
    extensions = {p.parent.name for p in (folder / "extensions").rglob("package.json")}
    assert {"pyodide-kernel-extension", "jupyterlab-manager", "anywidget"} <= extensions
