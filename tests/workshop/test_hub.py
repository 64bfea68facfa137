"""A real JupyterHub from the recipe, and learners who log in over HTTP, start servers and run a notebook's cells.

The spawner is the one that starts plain processes; the settings of the two others are checked against the classes that
read them. Learners in containers: test_hub_containers.py.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from kitlib.workshop import hub_client
from kitlib.workshop.rehearsal import RehearsalResult, live_a_day
from tests.workshop.hub import ADMIN, LEARNERS, PASSWORD, ROOT, Place, done, first_notebook, learner, running

pytestmark = pytest.mark.workshop


@pytest.fixture(scope="module")
def hub(place: Place) -> Iterator[str]:
    with running(place, "process") as address:
        yield address


class Trainer:
    """The trainer at the room's page."""

    def __init__(self, hub: str) -> None:
        self.session, self.room = hub_client.session(), f"{hub}/services/room/"
        assert hub_client.log_in(self.session, hub, "trainer", ADMIN, "") == 302
        page = self.session.get(self.room).text
        found = re.search(r'data-token="([^"]+)"', page)
        assert found and "Put a question to the room" in page
        self._token = found[1]

    def board(self) -> dict[str, Any]:
        made: dict[str, Any] = self.session.get(f"{self.room}board.json").json()
        return made

    def act(self, status: int = 200, **body: str) -> str:
        answer = self.session.post(f"{self.room}act", json=body, headers={"X-XSRFToken": self._token})
        assert answer.status_code == status, answer.text
        return str(answer.text)


@pytest.fixture(scope="module")
def trainer(hub: str) -> Trainer:
    return Trainer(hub)


@pytest.fixture(scope="module")
def found(place: Place, hub: str, trainer: Trainer) -> list[dict[str, Any]]:
    """Three learners at once, whose servers were started beforehand."""
    end = time.monotonic() + 120
    while "3 of 3 servers were started." not in (servers := trainer.board()["servers"]):
        assert time.monotonic() < end, servers
        time.sleep(0.5)
    cells = first_notebook()
    others = [*LEARNERS[1:], LEARNERS[0]]
    with ThreadPoolExecutor() as pool:
        return list(pool.map(lambda who: learner(place, hub, who[0], PASSWORD, who[1], cells), zip(LEARNERS, others)))  # noqa: B905


def test_learners_log_in_and_get_servers_with_the_course(found: list[dict[str, Any]]) -> None:
    there = len(list((ROOT / "notebooks").glob("*.ipynb")))
    assert [(one["login"], one["server"], one["notebooks"]) for one in found] == [(302, 200, there)] * 3


def test_every_cell_of_the_first_notebook_runs_and_a_lab_is_checked(found: list[dict[str, Any]]) -> None:
    for one in found:
        assert set(one["cells"]) == {"ok"}, one["cells"]
        assert one["check"][0] == "ok" and "This time 0 of 3 points" in one["check"][1], one["check"]


def test_a_lab_that_the_trainer_closed_does_not_open(found: list[dict[str, Any]]) -> None:
    for one in found:
        assert one["closed"][0].startswith("KitError: lab 02-throttled-on-an-idle-node is closed"), one["closed"]


def test_nobody_else_reads_the_hubs_database(place: Place, hub: str) -> None:
    assert (place.folder / "hub-process" / "jupyterhub.sqlite").stat().st_mode & 0o077 == 0


def test_nobody_gets_into_a_neighbours_server(found: list[dict[str, Any]]) -> None:
    assert [one["neighbour"] for one in found] == [403] * 3


def test_a_learner_who_needs_too_much_memory_is_refused_it_and_goes_on(found: list[dict[str, Any]]) -> None:
    for one in found:
        assert one["limit"] == ["ok", "900000000\n"]
        assert one["hog"][0].startswith("MemoryError")
        assert one["after"] == ["ok", "still here\n"]


def test_the_instructors_table_is_made_from_the_learners_folder(place: Place, found: list[dict[str, Any]]) -> None:
    kitlib = str(Path(place.python).with_name("kitlib"))
    table = done([kitlib, "lab-report", str(place.folder / "learners")], place.folder, env=place.environment)
    assert [line.split(",")[0] for line in table.splitlines()] == ["learner", *LEARNERS]
    assert "make-it-guaranteed points" in table


def test_what_a_learner_takes_with_server_and_kernel(
    found: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    def pss(pid: str) -> float:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("Pss:")).split()[1]) * 1024 / 1e6

    pairs = [one["pid"][1].split() for one in found]
    kernels, servers = [pss(kernel) for kernel, _ in pairs], [pss(server) for _, server in pairs]
    each = (sum(kernels) + sum(servers)) / len(found)
    with capsys.disabled():
        print(
            f"\n3 learners at a hub: server {max(servers):.0f} MB, kernel {max(kernels):.0f} MB (PSS); 30 learners: "
            f"{30 * each:.0f} MB; server ready after {max(one['server seconds'] for one in found)} s, first notebook "
            f"run in {max(one['notebook seconds'] for one in found)} s"
        )
    assert each < 300


def test_when_all_places_are_taken_the_next_is_told_so(hub: str, found: list[dict[str, Any]], trainer: Trainer) -> None:
    """There is one learner, with two places in reserve."""
    answer = trainer.session.get(f"{hub}/hub/spawn")
    assert answer.status_code == 429 and "All places are taken" in answer.text


@pytest.mark.parametrize(
    ("account", "own", "room"),
    [
        ("ada", "another word", PASSWORD),
        ("ada", "ada's own word", "another word"),
        ("eve", "eve's own word", PASSWORD),
        ("trainer", "trainer's own word", PASSWORD),
        ("trainer", "", PASSWORD),
    ],
    ids=[
        "another's account",
        "without the room's word",
        "not on the roster",
        "as the trainer",
        "as the trainer, empty",
    ],
)
def test_who_may_not_come_in(hub: str, found: list[dict[str, Any]], account: str, own: str, room: str) -> None:
    assert hub_client.log_in(hub_client.session(), hub, account, own, room) == 403


def test_the_trainer_sees_everybody_and_a_learners_cluster(found: list[dict[str, Any]], trainer: Trainer) -> None:
    board = trainer.board()
    assert [
        (one["learner"], one["name"], one["lab"]) for one in sorted(board["seats"], key=lambda seat: seat["learner"])
    ] == [(account, account.title(), "make-it-guaranteed") for account in LEARNERS]
    assert board["good_faith"] and not board["problem"]
    assert "make-it-guaranteed, variant" in (shown := trainer.session.get(f"{trainer.room}look/ada").text)
    assert "POD " in shown and "EVENTS" in shown
    assert "has not run anything yet" in trainer.session.get(f"{trainer.room}look/eve").text


def test_a_learner_calls_for_help_sees_no_board_and_decides_nothing(
    hub: str, found: list[dict[str, Any]], trainer: Trainer
) -> None:
    ada = hub_client.session()
    assert hub_client.log_in(ada, hub, "ada", "ada's own word", PASSWORD) == 302
    page = ada.get(trainer.room).text
    token = re.search(r'data-token="([^"]+)"', page)
    assert token and "I need help" in page
    headers = {"X-XSRFToken": token[1]}
    for path in ("board.json", "questions.json", "look/bob"):
        assert ada.get(f"{trainer.room}{path}").status_code == 403
    assert ada.post(f"{trainer.room}act", json={"act": "collect"}, headers=headers).status_code == 403
    assert ada.post(f"{trainer.room}help", json={"wanted": True}).status_code == 403, "without the token"
    assert ada.post(f"{trainer.room}help", json={"wanted": True}, headers=headers).status_code == 200
    assert trainer.board()["seats"][0]["learner"] == "ada" and trainer.board()["seats"][0]["state"] == "help"
    trainer.act(act="answered", account="ada")
    assert ada.get(f"{trainer.room}me.json").json()["state"] != "help"


def test_the_room_votes_without_accounts_and_a_hundred_votes_of_one_browser_count_once(
    hub: str, found: list[dict[str, Any]], trainer: Trainer
) -> None:
    vote = f"{trainer.room}vote/"
    voters = [hub_client.session() for _ in range(2)]  # the room has one place, so two browsers may vote
    question = {"place": "the-schedulers-pipeline", "key": "winner"}
    assert [one.get(vote).status_code for one in voters] == [200, 200]
    late = hub_client.session()
    assert late.get(vote).status_code == 429 and late.post(f"{vote}cast", json={"answer": "half"}).status_code == 403
    trainer.act(act="vote", step="open", **question)
    for number in range(100):
        voters[0].post(f"{vote}cast", json={"answer": ("half", "old")[number % 2]})
    voters[1].post(f"{vote}cast", json={"answer": "half"})
    hidden = voters[1].get(f"{vote}state.json").json()
    assert (hidden["count"], hidden["rounds"], hidden["mine"]) == (2, [], "half")
    trainer.act(act="vote", step="show")
    shown = dict(voters[1].get(f"{vote}state.json").json()["rounds"][0])
    assert (shown["half"], shown["old"]) == (1, 1)
    trainer.act(act="vote", step="again")
    ada = hub_client.session()
    assert hub_client.log_in(ada, hub, "ada", "ada's own word", PASSWORD) == 302
    assert ada.get(f"{vote}login").url == vote, "logged in at the room, and back"
    for session in (*voters, ada):
        assert session.post(f"{vote}cast", json={"answer": "half"}).status_code == 200, "an account has its place"
    trainer.act(act="vote", step="accounts")
    assert voters[0].post(f"{vote}cast", json={"answer": "half"}).status_code == 400
    assert [one.get(f"{vote}state.json").json()["login"] for one in (voters[0], ada)] == [True, False]
    trainer.act(act="vote", step="show")
    assert dict(ada.get(f"{vote}state.json").json()["rounds"][1])["half"] == 1
    trainer.act(act="vote", step="close")


def test_a_rehearsals_learner_lives_a_day(hub: str, found: list[dict[str, Any]]) -> None:
    measured = RehearsalResult(1)
    live_a_day(hub, PASSWORD, ["bob"], measured)
    assert measured.problems == [] and measured.refused == 0
    steps = ["login", "page", "kernel and lab", "widget", "first widget", "first check", "second check"]
    assert list(measured.seconds) == steps and all(len(seconds) == 1 for seconds in measured.seconds.values())


def test_the_trainer_collects_and_forgets_a_word(
    hub: str, place: Place, found: list[dict[str, Any]], trainer: Trainer
) -> None:
    assert trainer.act(act="collect").startswith("3 files copied")
    kitlib = str(Path(place.python).with_name("kitlib"))
    given = [str(place.folder / "collected"), "--key", str(place.folder / "hub-process/room-key.pem.pub")]
    table = done([kitlib, "lab-report", *given], place.folder, env=place.environment)
    assert [line.split(",")[0] for line in table.splitlines()] == ["learner", *LEARNERS] and table.splitlines()[
        1
    ].endswith(",Ada")
    assert "names no account" not in table and "another's file" not in table
    assert "chooses a new word" in trainer.act(act="word", account="cy")
    assert "not the account of a learner" in trainer.act(400, act="word", account="trainer")
    assert hub_client.log_in(hub_client.session(), hub, "cy", "cy's other word", PASSWORD) == 302
    assert hub_client.log_in(hub_client.session(), hub, "cy", "cy's own word", PASSWORD) == 403


TRAITS = """
import os, sys
from importlib import import_module
from types import SimpleNamespace
from traitlets.config.loader import PyFileConfigLoader
from jupyterhub.app import JupyterHub
from firstuseauthenticator import FirstUseAuthenticator
from jupyterhub.proxy import ConfigurableHTTPProxy
from jupyterhub.spawner import LocalProcessSpawner, SimpleLocalProcessSpawner
config = PyFileConfigLoader(sys.argv[1]).load_config()
chosen = {"docker": ("dockerspawner", "DockerSpawner"), "systemd": ("systemdspawner", "SystemdSpawner")}
module, name = chosen.get(os.environ["KITLIB_HUB_SPAWNER"], ("jupyterhub.spawner", "SimpleLocalProcessSpawner"))
spawner = getattr(import_module(module), name)
classes = [JupyterHub, FirstUseAuthenticator, ConfigurableHTTPProxy, spawner, LocalProcessSpawner]
known = {base.__name__: base for one in classes for base in one.__mro__ if hasattr(base, "class_trait_names")}
for section, values in config.items():
    for trait in values:
        assert trait in known[section].class_trait_names(config=True), f"{section}.{trait}"
made = spawner(config=config, user=SimpleNamespace(name="ada", id=1, settings={}, url="/user/ada/"))
assert made.mem_limit == 900_000_000 and made.cpu_limit == 1.0, (made.mem_limit, made.cpu_limit)
print("traits", sum(len(values) for values in config.values()))
"""


@pytest.mark.parametrize("spawner", ["docker", "systemd", "process"])
def test_every_setting_is_one_that_the_spawner_reads(place: Place, spawner: str) -> None:
    command = [place.python, "-c", TRAITS, str(place.folder / "recipe/jupyterhub_config.py")]
    out = done(command, place.folder, env=place.environment | {"KITLIB_HUB_SPAWNER": spawner})
    assert int(out.split()[-1]) > 15
