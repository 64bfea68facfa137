"""Writes one file of each kind that users keep, as this version of the kit writes it: the samples in `formats/`.

Run once for a release, `python -m tests.lab.format_samples tests/lab/formats/1.0`; earlier samples stay as they are.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

from kitlib.cluster import Cluster
from kitlib.lab import certificate, collected, launch, room, share
from kitlib.lab.definition import LabFolder
from kitlib.lab.grader import prepare
from kitlib.lab.progress import Progress
from kitlib.study import sweep

LABS = Path(__file__).parents[2] / "labs"
LAB, SEED = "01-make-it-guaranteed", 7
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web"},
    "spec": {"containers": [{"name": "a", "image": "pause", "resources": {"requests": {"cpu": "100m"}}}]},
}


def solved(progress: Progress, lab: str) -> None:
    """Record checks with the journal of a reference solution, and one of each other kind of entry."""
    folder = LabFolder.read(LABS / lab, SEED)
    cluster = prepare(folder)
    folder.answers().reference(cluster)
    progress.opened(lab)
    progress.record("prediction", "05-who-dies-first", "victim", 1, 1, predicted="web", observed="web")
    progress.record("hint", lab, folder.definition.tasks[0].key, 0, 0, number=1)
    ground = {"kernel": "simulated", "cgroup_version": 0, "seed": SEED}
    for task in folder.definition.tasks:
        given = {"journal": list(cluster.journal), "ground": ground}
        progress.record("check", lab, task.key, task.points, task.points, **given)


def write(folder: Path) -> None:
    """Write the samples of this version into a new folder."""
    folder.mkdir(parents=True)
    os.environ["JUPYTERHUB_USER"] = "ada"
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        solved(Progress(work / "learners" / "ada"), LAB)
        key = work / "key.pem"
        collected.collect(work / "learners", folder / "collected", key, names={"ada": "Ada L."})
        shutil.copy(f"{key}.pub", folder / "key.pem.pub")
        shutil.copy(work / "learners" / "ada" / "progress.jsonl", folder / "progress.jsonl")
        statement = certificate.confirmed(folder / "progress.jsonl", "Ada L.", "Bob", LAB)
        certificate.write(folder / "certificate.html", certificate.sign(statement, key))
        launch.make_course_folder(work / "course")
        record = json.loads((work / "course" / ".kitlib-course.json").read_text())
        record["files"] = dict(sorted(record["files"].items())[:3])
        (folder / "kitlib-course.json").write_text(json.dumps(record, indent=1), encoding="utf-8")
    room.write(folder / "room.json", room.RoomDecisions(("01-make-it-guaranteed",), {"03-sidecar-oom": 7}))
    with Cluster.simulated([{"name": "a", "cpus": 2, "memory": "2Gi"}]) as cluster:
        cluster.apply(POD)
        cluster.advance(5)
        (folder / "journal.json").write_text(cluster.journal.to_json(), encoding="utf-8")
        (folder / "link.txt").write_text(share.link(cluster, "https://example.org/") + "\n", encoding="utf-8")
    scenario = "kitlib.advisor.first_victim:first_victim"
    sweep(scenario, {"spread": [0, 10]}, seeds=2, workers=1, file=folder / "results.jsonl")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
