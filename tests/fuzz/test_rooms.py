"""What a room hands around: links of scenes, progress files in a room's folder, decisions, the recipe's options."""

from __future__ import annotations

import base64
import json
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from yaml import CSafeLoader

from kitlib.api.errors import KitError
from kitlib.cluster import Cluster
from kitlib.lab import room, room_view, share
from kitlib.lab.submissions import course_labs
from kitlib.workshop import Limits
from kitlib.workshop.kubernetes import KubernetesRoom, size_of
from kitlib.workshop.nodes_namespace import NodesNamespace
from tests.fuzz import samples
from tests.fuzz.mutate import ODD, Mutator, fuzz, part, small
from tests.fuzz.mutate import share as one_of
from tests.fuzz.test_readers import ENTRY


def link_of(document: Any, mutator: Mutator) -> str:
    text = json.dumps(document, default=str).encode("utf-8", "surrogatepass")
    packed = zlib.compress(mutator.text(text) if mutator.random.random() < 0.2 else text)
    packed = mutator.text(packed) if mutator.random.random() < 0.1 else packed
    return f"#kitlib={base64.urlsafe_b64encode(packed).decode().rstrip('=')}"


def document_of(link: str) -> Any:
    state = share.state_in(link)
    return json.loads(zlib.decompress(base64.urlsafe_b64decode(state + "=" * (-len(state) % 4))))


def test_links_of_clusters(note: Any) -> None:
    with Cluster.simulated(
        [{"name": "n", "cpus": 2, "memory": "2Gi", "labels": {"a": "b"}, "taints": ["a=b:NoSchedule"]}]
    ) as made:
        made.apply(samples.OTHERS[0])
        made.advance(5)
        made.scale("Deployment", "deployment", 3)
        document = document_of(share.link(made))

    def make(mutator: Mutator) -> str:
        change = mutator.near if mutator.random.random() < 0.4 else mutator.value
        return link_of(small(change(document)), mutator)

    def run(link: str) -> None:
        with share.opened(link) as cluster:
            assert isinstance(share.link(cluster), str)

    note(fuzz(make, run, KitError, part(400)))


def test_links_of_widgets(note: Any) -> None:
    pytest.importorskip("ipywidgets")
    documents = (
        {"version": 1, "widget": "QueueTheatre", "steps": [{"name": "Next", "message": {"event": "click"}}]},
        {
            "version": 1,
            "widget": "SpreadExplorer",
            "arguments": {},
            "steps": [{"name": "maxSkew", "values": {"value": 2}}],
        },
        {"version": 1, "widget": "SharesRace", "arguments": {"cpus": 2}},
    )
    for one in (
        *documents,
        {"version": 1, "widget": "SharesRace"},
    ):  # what is imported at the first use does not count as an input's time
        with suppress(KitError):
            share.opened(link_of(one, Mutator())).close()

    def make(mutator: Mutator) -> str:
        return link_of(mutator.value(one_of(documents, mutator)), mutator)

    def run(link: str) -> None:
        share.opened(link).close()

    note(fuzz(make, run, KitError, part(400)))


def test_a_room_of_progress_files(note: Any, tmp_path: Path) -> None:
    """A bad file is named in its learner's line; the table and the page are made of all."""
    lab = next(iter(course_labs()))
    good = {**ENTRY, "lab": lab}
    hint = {**good, "kind": "hint", "points": 0.0, "of": 0.0, "details": {"number": 1}}
    (tmp_path / "ada.jsonl").write_text(json.dumps(good) + "\n")
    bad = tmp_path / "bob.jsonl"

    def make(mutator: Mutator) -> bytes:
        entries = [mutator.value(one_of((good, hint), mutator)) for _ in range(3)]
        lines = b"\n".join(json.dumps(one, default=str).encode("utf-8", "surrogatepass") for one in entries)
        return mutator.text(lines) if mutator.random.random() < 0.5 else lines

    def run(content: bytes) -> None:
        bad.write_bytes(content)
        seats = room_view.RoomView(tmp_path).seats(1e9)
        assert {seat.learner for seat in seats} == {"ada", "bob"}
        room_view.to_text(seats).encode()
        room_view.to_html(seats).encode()

    note(fuzz(make, run, (), part(200)))


def test_a_rooms_decisions(note: Any, tmp_path: Path) -> None:
    file, decided = tmp_path / "room.json", {"open": ["01-qos", "02-x"], "seeds": {"01-qos": 7}}

    def make(mutator: Mutator) -> bytes:
        return mutator.text(json.dumps(mutator.value(decided), default=str).encode("utf-8", "surrogatepass"))

    def run(content: bytes) -> None:
        file.write_bytes(content)
        found = room.read(file)
        room.write(file, found)
        assert room.read(file) == found
        found.require_open("01-qos")

    note(fuzz(make, run, KitError, part(100)))


NUMBERS = (0, 1, -1, 3, 30, 200, 10**6, 10**12, 2**70, 0.5, float("inf"), float("nan"), float("-inf"))
WORDS = (
    *("kitlib-nodes", "kitlib-hub", "registry.example/x:1", "a:b", "", "${hub}", "$x", "a: b", "x\ny: z", "é", "-"),
    "A" * 300,
)


def test_options_of_the_recipe(note: Any) -> None:
    """What is accepted makes files that YAML reads, in which nothing but the value stands in the value's place."""

    def make(mutator: Mutator) -> dict[str, Any]:
        wished: dict[str, Any] = {
            "learners": 30,
            "memory_mb": 600,
            "cpus": 1.0,
            "processes": 200,
            "nodes": 3,
            "node_cpus": 4,
            "name": "kitlib-nodes",
            "memory": "8Gi",
            "image": "registry.example/x:1",
            "hub": "kitlib-hub",
            "node_image": "registry.example/n:1",
            "subject": "group:a",
        }
        for name in mutator.random.sample(sorted(wished), mutator.random.choice((0, 1, 1, 2))):
            texts = [*WORDS, *(one for one in ODD if isinstance(one, str)), "user:x", "1Gi", "-1Gi", "1Ei"]
            wished[name] = mutator.random.choice(texts if isinstance(wished[name], str) else NUMBERS)
        return wished

    def run(wished: dict[str, Any]) -> None:
        nodes = NodesNamespace(
            name=wished["name"],
            image=wished["node_image"],
            nodes=wished["nodes"],
            cpus=wished["node_cpus"],
            memory=wished["memory"],
            subjects=(wished["subject"],),
            seats=True,
        )
        limits = Limits(*(wished[name] for name in ("learners", "memory_mb", "cpus", "processes")))
        made = KubernetesRoom(limits=limits, hub=wished["hub"], image=wished["image"], nodes=nodes)
        values = yaml.load(made.files()["values.yaml"], Loader=CSafeLoader)
        override = values["singleuser"]["profileList"][1]["kubespawner_override"]
        assert override["environment"]["KITLIB_NODES_NAMESPACE"] == wished["name"] + "-{userid}"
        assert override["environment"]["KITLIB_NODE_IMAGE"] == wished["node_image"]
        assert f"{values['singleuser']['image']['name']}:{values['singleuser']['image']['tag']}" == wished["image"]
        assert next(yaml.load_all(nodes.to_yaml(), Loader=CSafeLoader))["metadata"]["name"] == wished["name"]
        assert str(size_of(wished["learners"], wished["nodes"]))

    note(fuzz(make, run, KitError, part(400)))
