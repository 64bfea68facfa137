"""The learner's course folder: made once, brought up to date, never overwritten where the learner worked."""

import json
import os
import re
from pathlib import Path

import pytest
from jupyter_client.manager import KernelManager
from jupyter_client.multikernelmanager import MultiKernelManager
from traitlets.config import Config

from kitlib.api.errors import KitError
from kitlib.lab import launch, server


@pytest.fixture
def packaged(tmp_path, monkeypatch):
    source = tmp_path / "package"
    for name in ("notebooks/01-first.ipynb", "labs/01-lab/lab.ipynb", "labs/01-lab/solution/answers.py"):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text("one")
    monkeypatch.setattr(launch, "course_source", lambda kind: source / kind)
    return source


def test_everything_but_the_solutions_is_copied(packaged, tmp_path):
    done = launch.make_course_folder(tmp_path / "course")
    assert done.added == ["notebooks/01-first.ipynb", "labs/01-lab/lab.ipynb"]
    assert not (tmp_path / "course/labs/01-lab/solution").exists()


def test_a_second_time_nothing_changes(packaged, tmp_path):
    launch.make_course_folder(tmp_path / "course")
    done = launch.make_course_folder(tmp_path / "course")
    assert (done.added, done.updated, done.kept) == ([], [], [])


def test_an_untouched_file_follows_the_package(packaged, tmp_path):
    launch.make_course_folder(tmp_path / "course")
    (packaged / "notebooks/01-first.ipynb").write_text("two")
    assert launch.make_course_folder(tmp_path / "course").updated == ["notebooks/01-first.ipynb"]
    assert (tmp_path / "course/notebooks/01-first.ipynb").read_text() == "two"


def test_what_the_learner_changed_stays_and_the_new_version_stands_beside_it(packaged, tmp_path):
    launch.make_course_folder(tmp_path / "course")
    (tmp_path / "course/notebooks/01-first.ipynb").write_text("my notes")
    (packaged / "notebooks/01-first.ipynb").write_text("two")
    assert launch.make_course_folder(tmp_path / "course").kept == ["notebooks/01-first.ipynb"]
    assert (tmp_path / "course/notebooks/01-first.ipynb").read_text() == "my notes"
    assert (tmp_path / "course/notebooks/01-first.new.ipynb").read_text() == "two"


def test_the_start_page_is_always_the_packages_for_running_it_saves_its_output(packaged, tmp_path):
    (packaged / "notebooks/00-start-here.ipynb").write_text("one")
    launch.make_course_folder(tmp_path / "course")
    (tmp_path / "course/notebooks/00-start-here.ipynb").write_text("with output")
    done = launch.make_course_folder(tmp_path / "course")
    assert (done.updated, done.kept) == (["notebooks/00-start-here.ipynb"], [])
    assert (tmp_path / "course/notebooks/00-start-here.ipynb").read_text() == "one"


def test_a_folder_that_cannot_be_made_is_named(packaged, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(KitError, match=r"course folder .*file/course"):
        launch.make_course_folder(tmp_path / "file" / "course")


def test_jupyterlab_opens_on_the_first_notebook(packaged, tmp_path):
    done = launch.make_course_folder(tmp_path / "course")
    command = launch.jupyter_command(done.folder, browser=False, port=9999)
    assert "--LabApp.default_url=/lab/tree/notebooks/01-first.ipynb" in command
    assert "--no-browser" in command and "--ServerApp.port=9999" in command


def test_notebook_7_opens_on_the_first_notebook_too(packaged, tmp_path):
    done = launch.make_course_folder(tmp_path / "course")
    command = launch.jupyter_command(done.folder, "notebook", browser=False)
    assert command[1:3] == ["-m", "notebook"]
    assert "--JupyterNotebookApp.default_url=/notebooks/notebooks/01-first.ipynb" in command


@pytest.mark.parametrize(("app", "words"), [("lab", "JupyterLab is not installed"), ("notebook", "Notebook 7 is not")])
def test_a_program_that_is_not_installed_is_named_with_what_brings_it(app, words, tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(KitError, match=f"{words}.*pip install 'kitlib"):
        launch.launch(tmp_path, app)
    assert not list(tmp_path.iterdir())


def test_a_shared_link_becomes_a_notebook_that_is_opened_first(tmp_path):
    made = launch.shared_notebook(tmp_path, "https://example.org/#kitlib=abc-_9")
    source = "".join(json.loads(made.read_text())["cells"][0]["source"])
    assert source.splitlines() == ["from kitlib.lab.share import opened", 'cluster = opened("abc-_9")', "cluster"]
    command = launch.jupyter_command(tmp_path, first=made)
    assert f"--LabApp.default_url=/lab/tree/shared/{made.name}" in command
    with pytest.raises(KitError, match="a link must end with"):
        launch.shared_notebook(tmp_path, '#kitlib=");import os')


def test_voila_opens_on_the_start_page_too_and_a_token_is_still_asked_for(packaged, tmp_path):
    (packaged / "notebooks/00-start-here.ipynb").write_text("one")
    done = launch.make_course_folder(tmp_path / "course")
    command = launch.jupyter_command(done.folder, "voila", browser=False)
    assert command[1:3] == ["-m", "jupyter_server"]
    assert "--ServerApp.default_url=/voila/render/notebooks/00-start-here.ipynb" in command
    assert not [argument for argument in command if "token" in argument or "password" in argument]


def test_the_server_finds_the_kits_settings_and_extension_before_others_and_keeps_those():
    made = launch.jupyter_environment({"JUPYTER_CONFIG_PATH": "/theirs", "HOME": "/home/me"}, "docker")
    first, rest = made["JUPYTER_CONFIG_PATH"].split(os.pathsep)
    assert rest == "/theirs" and made["HOME"] == "/home/me" and made["KITLIB_NODES"] == "docker"
    overrides = json.loads((Path(first) / "labconfig/default_setting_overrides.json").read_text())
    assert overrides["@jupyterlab/apputils-extension:notification"] == {"fetchNews": "false", "checkForUpdates": False}
    extension = Path(made["JUPYTER_PATH"]) / "labextensions/kitlib"
    build = json.loads((extension / "package.json").read_text())["jupyterlab"]["_build"]
    assert (extension / build["load"]).is_file()


def test_the_extension_is_small_text_that_asks_nobody_outside():
    files = list((launch.JUPYTER / "share/labextensions/kitlib/static").glob("*"))
    assert {file.suffix for file in files} == {".js"}
    assert sum(file.stat().st_size for file in files) < 60_000
    named = {url for file in files for url in re.findall(r"https?://[^\"\s]+", file.read_text())}
    assert named <= {"http://www.w3.org/2000/svg"}


def test_the_page_gets_no_extension_made_for_jupyterlite_alone_and_knows_the_start_page():
    there = [{"name": "@jupyterlite/pyodide-kernel-extension"}, {"name": "anywidget"}, {"name": "kitlib"}]
    made = server.page_config(None, {"federated_extensions": there, "token": "x"})
    assert [one["name"] for one in made["federated_extensions"]] == ["anywidget", "kitlib"]
    assert made["token"] == "x" and made["kitlibStart"] == launch.START


def test_voila_is_given_a_template_that_the_server_finds():
    made = launch.jupyter_environment({})
    settings = json.loads((Path(made["JUPYTER_CONFIG_PATH"]) / "jupyter_server_config.json").read_text())
    templates = Path(made["JUPYTER_PATH"]) / "voila/templates" / settings["VoilaConfiguration"]["template"]
    assert json.loads((templates / "conf.json").read_text()) == {"base_template": "lab"}
    assert "prefers-color-scheme" in (templates / "index.html.j2").read_text()


@pytest.mark.parametrize(("own", "expected"), [({}, "auto"), ({"transport_encryption": "disabled"}, "disabled")])
def test_kernels_are_encrypted_unless_the_user_says_otherwise(own: dict[str, str], expected: str) -> None:
    kernels = MultiKernelManager(config=Config({"KernelManager": own}))
    server.encrypt(kernels)
    assert getattr(KernelManager(parent=kernels), server.ENCRYPTION, expected) == expected  # old versions have none
