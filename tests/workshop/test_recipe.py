"""`kitlib workshop`: the files it writes, the numbers in them, what a trainer changed; and that the guide is true."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest

from kitlib import cli, workshop
from kitlib.api.errors import KitError
from kitlib.workshop import Limits

ROOT = Path(__file__).parents[2]


def test_everything_that_the_guide_begins_with_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["workshop", str(tmp_path / "w"), "--learners", "12", "--no-wheel"]) == 0
    names = {"429.html", "Dockerfile", "guide.md", "jupyterhub_config.py", "room_login.py", "start-learner"}
    assert {p.name for p in (tmp_path / "w").iterdir()} == names
    assert "Begin with" in capsys.readouterr().out
    assert os.access(tmp_path / "w" / "start-learner", os.X_OK)
    assert "\nLEARNERS = 12\nMEMORY_MB = 600\n" in (tmp_path / "w" / "jupyterhub_config.py").read_text()


def test_a_file_that_the_trainer_changed_is_kept_and_named(tmp_path: Path) -> None:
    workshop.write(tmp_path, wheel=False)
    (tmp_path / "guide.md").write_text("my own")
    done = workshop.write(tmp_path, wheel=False)
    assert done.kept == ("guide.md",) and (tmp_path / "guide.md").read_text() == "my own"


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"learners": 0}, "learners: must be at least 1 "),
        ({"memory_mb": 100}, "memory_mb: must be at least 300 "),
        ({"cpus": 0}, "cpus: must be at least 0.1 "),
        ({"processes": 10}, "processes: must be at least 60 "),
    ],
)
def test_limits_under_which_no_server_starts_are_refused(wrong: dict[str, float], says: str) -> None:
    with pytest.raises(KitError, match=says):
        Limits(**wrong)  # type: ignore[arg-type]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(KitError, match=r"workshop folder .*file/w"):
        workshop.write(tmp_path / "file" / "w", wheel=False)


CONFIG = """
import os, sys
class Node(dict):
    def __getattr__(self, name):
        return self.setdefault(name, Node())
    __setattr__ = dict.__setitem__
c = Node()
c.Spawner.environment = {}
sys.modules["firstuseauthenticator"] = Node(FirstUseAuthenticator=object)
def load(name, folder="."):
    place = os.path.join(folder, name)
    names = {"c": c, "get_config": lambda: c, "__file__": place, "load_subconfig": load}
    exec(compile(open(place).read(), place, "exec"), names)
load(sys.argv[1])
print(c.JupyterHub.spawner_class, c.JupyterHub.active_server_limit, c.Spawner.mem_limit, c.Spawner.cpu_limit)
"""


@pytest.mark.parametrize(
    ("environment", "says"),
    [
        ({"KITLIB_HUB_SPAWNER": "docker"}, "dockerspawner.DockerSpawner 32 600000000 1.0"),
        ({"KITLIB_HUB_SPAWNER": "systemd"}, "systemdspawner.SystemdSpawner 32 600000000 1.0"),
        ({"KITLIB_HUB_SPAWNER": "process"}, "simple 32 600000000 1.0"),
        ({"KITLIB_HUB_SPAWNER": "kubernetes"}, "KITLIB_HUB_SPAWNER=kubernetes: docker, systemd or process is expected"),
        ({"KITLIB_HUB_PASSWORD": "short"}, "KITLIB_HUB_PASSWORD: at least 8 characters are needed"),
        ({"KITLIB_HUB_PASSWORD": ""}, "KITLIB_HUB_PASSWORD: at least 8 characters are needed"),
        ({"KITLIB_HUB_ADMIN_PASSWORD": "short"}, "KITLIB_HUB_ADMIN_PASSWORD: at least 32 characters are needed"),
    ],
)
def test_the_configuration_says_what_it_needs(tmp_path: Path, environment: dict[str, str], says: str) -> None:
    workshop.write(tmp_path, wheel=False)
    command = [sys.executable, "-c", CONFIG, str(tmp_path / "jupyterhub_config.py")]
    given = {"KITLIB_HUB_PASSWORD": "on the whiteboard", "PATH": os.environ["PATH"], **environment}
    given |= {"KITLIB_HUB_FOLDER": str(tmp_path / "learners")}
    done = subprocess.run(command, cwd=tmp_path, env=given, capture_output=True, text=True, timeout=60)
    assert says in done.stdout + done.stderr


def test_a_systemd_unit_finds_the_programs_of_the_hubs_environment(tmp_path: Path) -> None:
    """A unit inherits nothing of the hub's PATH: its server ended with `kitlib: not found`."""
    workshop.write(tmp_path, wheel=False)
    shown = CONFIG + "print(c.SystemdSpawner.extra_paths)"
    given = {"KITLIB_HUB_PASSWORD": "on the whiteboard", "PATH": "/usr/bin:/bin", "KITLIB_HUB_SPAWNER": "systemd"}
    given |= {"KITLIB_HUB_FOLDER": str(tmp_path / "learners")}
    command = [sys.executable, "-c", shown, str(tmp_path / "jupyterhub_config.py")]
    database = tmp_path / "jupyterhub.sqlite"  # a learner's unit can see the hub's folder
    database.touch(0o644)
    done = subprocess.run(command, cwd=tmp_path, env=given, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines()[-1] == str([str(Path(sys.executable).parent)])
    assert database.stat().st_mode & 0o077 == 0


def test_the_guide_names_commands_notebooks_and_labs_that_there_are() -> None:
    text = workshop.guide()
    for command in re.findall(r"kitlib ([a-z-]+)", text):
        assert command in cli.COMMANDS, command
    notebooks = {p.name[:2] for p in (ROOT / "notebooks").glob("*.ipynb")}
    labs = {p.name[:2] for p in (ROOT / "labs").iterdir()}
    for kind, there in (("notebook", notebooks), ("lab", labs)):
        for numbers in re.findall(rf"\b{kind}s? ((?:\d\d(?:, | and )?)+)", text):
            assert set(re.findall(r"\d\d", numbers)) <= there, numbers
    assert len(text.splitlines()) < 250


def test_the_images_hub_is_the_version_that_the_tests_run() -> None:
    version = re.search(r'HUB = "jupyterhub==([0-9.]+)"', (Path(__file__).with_name("hub.py")).read_text())
    assert version and f"JUPYTERHUB={version[1]}" in (workshop.FILES / "Dockerfile").read_text()


def test_without_the_login_file_no_hub_starts(tmp_path: Path) -> None:
    workshop.write(tmp_path, wheel=False)
    (tmp_path / "room_login.py").unlink()
    command = [sys.executable, "-c", CONFIG, str(tmp_path / "jupyterhub_config.py")]
    given = {"KITLIB_HUB_PASSWORD": "on the whiteboard", "KITLIB_HUB_FOLDER": str(tmp_path / "learners")}
    done = subprocess.run(command, cwd=tmp_path, env=os.environ | given, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0 and "room_login.py: missing" in done.stderr


@pytest.mark.parametrize(
    ("message", "says", "again"),
    [
        ("Too many users trying to log in right now. Try again in 60 seconds.", "Your notebook starts in a moment", 3),
        ("Active user limit exceeded. Try again in a few minutes.", "All places are taken", 30),
        ("Something else", "429 : Too Many Requests", None),
    ],
)
def test_the_page_of_a_refused_learner_asks_again_by_itself(message: str, says: str, again: int | None) -> None:
    import jinja2

    error = "{% block h1_error %}{{ status_code }} : {{ status_message }}{% endblock %}"
    error += "{% block error_detail %}{% endblock %}"
    templates = {
        "error.html": error + "{% block script %}{% endblock %}",
        "429.html": (workshop.FILES / "429.html").read_text(),
    }
    page = jinja2.Environment(loader=jinja2.DictLoader(templates)).get_template("429.html")
    text = page.render(message=message, status_code=429, status_message="Too Many Requests", base_url="/hub/")
    assert says in text
    assert (again is not None) == ("/hub/spawn" in text) and (again is None or f"const seconds = {again} +" in text)


def test_the_roster_is_written_and_makes_room_for_all(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("name\n" + "".join(f"Person {n}\n" for n in range(40)))
    given = ["workshop", str(tmp_path / "w"), "--no-wheel", "--roster", str(tmp_path / "people.csv")]
    assert cli.main(given) == 0
    assert "\nLEARNERS = 40\n" in (tmp_path / "w" / "jupyterhub_config.py").read_text()
    assert (tmp_path / "w" / "roster.csv").read_text().splitlines()[:2] == ["account,name", "person-0,Person 0"]


def test_kernels_of_one_host_cannot_meet_on_a_port(tmp_path: Path) -> None:
    """Each kernel has sockets of its own, whose paths fit although a learner's home folder may be long."""
    from jupyter_client.manager import KernelManager
    from traitlets.config import Config

    files = ROOT / "kitlib" / "workshop" / "files"
    recipe = (files / "jupyterhub_config.py").read_text(encoding="utf-8")
    name, value = re.findall(r'"--KernelManager\.(\w+)=(\w+)"', recipe)[0]
    (tmp_path / "kitlib").write_text("#!/bin/sh\n")
    (tmp_path / "jupyterhub-singleuser").write_text('#!/bin/sh\necho "$JUPYTER_RUNTIME_DIR"\n')
    for program in tmp_path.iterdir():
        program.chmod(0o755)
    folder = subprocess.run(
        [files / "start-learner"],
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path), "TMPDIR": ""},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    manager = KernelManager(
        connection_file=f"{folder}/kernel-{uuid4()}.json", config=Config({"KernelManager": {name: value}})
    )
    addresses = [manager._make_url(channel) for channel in ("shell", "iopub", "stdin", "hb", "control")]
    Path(folder).rmdir()
    assert all(address.startswith(f"ipc://{folder}/") for address in addresses)
    assert max(len(address.removeprefix("ipc://")) for address in addresses) <= 107
