"""`kitlib workshop FOLDER`: JupyterHub with limits for each learner, the learners' image, the instructor's guide.

kitlib workshop recipe                      one host
kitlib workshop recipe --kubernetes         Zero to JupyterHub, shared storage, real nodes in separate namespaces
kitlib workshop --namespace kitlib-nodes    prints the rights that an administrator grants for real nodes
"""

from __future__ import annotations

import argparse
from typing import Any

from kitlib.commands.arguments import number, path, whole


def add(commands: Any) -> None:
    made = commands.add_parser(
        "workshop",
        help="write a JupyterHub recipe and the instructor's guide",
        description="Write into FOLDER: guide.md for the instructor, jupyterhub_config.py with limits for each "
        "learner, the Dockerfile of the learners' image and the kit's wheel. Files that you have changed are kept.",
    )
    made.add_argument("folder", type=path, nargs="?", help="folder for the recipe")
    made.add_argument("--learners", type=whole(1), default=30, help="number of learners (default: 30)")
    made.add_argument(
        "--memory", type=whole(1), default=600, metavar="MB", help="MB of memory for each learner (default: 600)"
    )
    made.add_argument("--cpus", type=number(0, above=True), default=1.0, help="CPUs for each learner (default: 1)")
    made.add_argument(
        "--processes", type=whole(1), default=200, help="maximum number of processes for each learner (default: 200)"
    )
    made.add_argument("--no-wheel", action="store_true", help="do not include the kit's wheel")
    made.add_argument(
        "--wheels",
        action="store_true",
        help="include all wheels of the learners' image, so that the image can be built without a package index",
    )
    made.add_argument(
        "--roster",
        type=path,
        metavar="FILE.csv",
        help="CSV file with a column `name` (and `account`, if you choose the accounts): only these people can log in, "
        "and their servers start before the login",
    )
    made.add_argument(
        "--trainer",
        type=path,
        metavar="LABS",
        help="also write the trainer's edition to FOLDER/trainer, from the folder `labs` of a checkout: solutions, "
        "pitfalls, timing, a front notebook, and sheets to print (an installed kit contains no solutions)",
    )
    made.add_argument(
        "--variant",
        type=whole(0),
        default=0,
        metavar="N",
        help="variant of the labs in the trainer's edition (default: 0)",
    )
    made.add_argument(
        "--rehearse",
        type=whole(1),
        metavar="N",
        help="start the hub of FOLDER with N simulated learners who log in, open a lab and check it; report the "
        "capacity of this machine and the settings to change",
    )
    made.add_argument(
        "--without-roster",
        action="store_true",
        help="with --rehearse: start each server when its learner logs in",
    )
    made.add_argument("--kubernetes", action="store_true", help="write the recipe for Zero to JupyterHub")
    made.add_argument(
        "--image", default="registry.example/kitlib-learner:1", help="with --kubernetes: the learners' image"
    )
    made.add_argument("--hub", default="kitlib-hub", metavar="NAME", help="with --kubernetes: namespace of the hub")
    made.add_argument(
        "--namespace",
        metavar="NAME",
        help="namespace for the pods of real nodes (default: kitlib-nodes); without FOLDER, prints its manifests",
    )
    made.add_argument("--nodes", type=whole(0), default=3, help="number of real nodes for each learner (default: 3)")
    made.add_argument("--node-cpus", type=whole(1), default=4, metavar="N", help="CPUs of each real node (default: 4)")
    made.add_argument("--node-memory", default="8Gi", metavar="SIZE", help="memory of each real node (default: 8Gi)")
    made.add_argument(
        "--node-image", default="registry.example/kitlib-node:1", metavar="IMAGE", help="image of the real nodes"
    )
    made.add_argument(
        "--for",
        dest="subjects",
        nargs="+",
        metavar="WHO",
        help="people with real nodes, each in a separate namespace: user:NAME, group:NAME, "
        "serviceaccount:NAMESPACE:NAME (default: one service account of the hub for each learner)",
    )
    made.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from kitlib.api.errors import KitError
    from kitlib.workshop import RESERVE, Limits, kubernetes, roster, trainers_edition, write
    from kitlib.workshop.nodes_namespace import NodesNamespace

    if options.rehearse:
        return _rehearse(options)
    if options.without_roster:
        raise KitError("--without-roster requires --rehearse N")
    if options.trainer:
        trainers_edition.labs_of(options.trainer, options.variant)  # before anything is written
    people = roster.read(options.roster) if options.roster else ()
    limits = Limits(max(options.learners, len(people)), options.memory, options.cpus, options.processes)
    nodes = NodesNamespace(
        name=options.namespace or "kitlib-nodes",
        image=options.node_image,
        nodes=options.nodes,
        cpus=options.node_cpus,
        memory=options.node_memory,
        subjects=tuple(options.subjects or NodesNamespace.seat_subjects(options.learners + RESERVE, options.hub)),
        seats=options.subjects is None,
    )
    if options.folder is None:
        if options.namespace is None:
            raise KitError("FOLDER or --namespace NAME is required")
        print(nodes.to_yaml(), end="")
        return 0
    wheels = {"wheel": not options.no_wheel, "wheels": options.wheels}
    if options.kubernetes:
        room = kubernetes.KubernetesRoom(
            limits=limits, hub=options.hub, image=options.image, nodes=nodes, people=people
        )
        done = kubernetes.write(options.folder, room, **wheels)
        print(f"On paper, {kubernetes.size_of(options.learners, options.nodes)}")
    else:
        done = write(options.folder, limits, people=people, **wheels)
    print(f"{done.folder}: {', '.join(done.files)}")
    if options.trainer:
        place = options.folder / "trainer"
        names = trainers_edition.write(place, options.trainer, seed=options.variant, people=people)
        print(f"{place}: {len(names)} files: keep them from learners")
    for name in done.kept:
        print(f"{done.folder / name}: kept as you changed it")
    print(f"Begin with {done.folder / ('guide-kubernetes.md' if options.kubernetes else 'guide.md')}")
    return 0


def _rehearse(options: argparse.Namespace) -> int:
    from kitlib.api.errors import KitError
    from kitlib.workshop.rehearsal import rehearse

    if options.folder is None:
        raise KitError("--rehearse requires the FOLDER of a recipe")
    found = rehearse(
        options.folder,
        options.rehearse,
        lambda text: print(text, flush=True),
        expected=not options.without_roster,
    )
    print(found)
    return 1 if found.problems else 0
