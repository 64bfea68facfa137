"""`kitlib workshop FOLDER`: JupyterHub with limits for each learner, the learners' image, the instructor's guide.

kitlib workshop recipe                      one host
kitlib workshop recipe --kubernetes         Zero to JupyterHub, shared storage, real nodes in separate namespaces
kitlib workshop --namespace kitlib-nodes    prints the rights that an administrator grants for real nodes
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from kitlib.commands.arguments import number, whole


def add(commands: Any) -> None:
    made = commands.add_parser(
        "workshop",
        help="write a JupyterHub recipe and the instructor's guide",
        description="Write into FOLDER: guide.md for the instructor, jupyterhub_config.py with limits for each "
        "learner, the Dockerfile of the learners' image and the kit's wheel. Files that you have changed are kept.",
    )
    made.add_argument("folder", type=Path, nargs="?", help="where the files go")
    made.add_argument("--learners", type=whole(1), default=30, help="servers at once (default: 30)")
    made.add_argument("--memory", type=whole(1), default=600, metavar="MB", help="for each learner (default: 600)")
    made.add_argument("--cpus", type=number(0, above=True), default=1.0, help="that one learner may use (default: 1)")
    made.add_argument("--processes", type=whole(1), default=200, help="that one learner may have (default: 200)")
    made.add_argument("--no-wheel", action="store_true", help="leave the kit's wheel out")
    made.add_argument(
        "--wheels",
        action="store_true",
        help="put in all wheels of the learners' image: it is then built without an index",
    )
    made.add_argument(
        "--roster",
        type=Path,
        metavar="FILE.csv",
        help="the people, a column `name` (and `account`, if you choose accounts): only they come in, and their "
        "servers are started beforehand",
    )
    made.add_argument(
        "--trainer",
        type=Path,
        metavar="LABS",
        help="also write the trainer's edition into FOLDER/trainer, from the folder `labs` of a checkout: worked "
        "solutions, pitfalls, timing, a front notebook, sheets to print (an installed kit has no solutions)",
    )
    made.add_argument("--variant", type=whole(0), default=0, metavar="N", help="of the trainer's edition (default: 0)")
    made.add_argument(
        "--rehearse",
        type=whole(1),
        metavar="N",
        help="start the hub of FOLDER with N made-up learners who log in, open a lab and check it; say what this "
        "machine carries and what to change",
    )
    made.add_argument(
        "--without-roster",
        action="store_true",
        help="with --rehearse: no server is started beforehand, each starts when its learner logs in",
    )
    made.add_argument("--kubernetes", action="store_true", help="for Zero to JupyterHub instead of one host")
    made.add_argument("--image", default="registry.example/kitlib-learner:1", help="of learners, with --kubernetes")
    made.add_argument("--hub", default="kitlib-hub", metavar="NAME", help="the hub's namespace, with --kubernetes")
    made.add_argument(
        "--namespace",
        metavar="NAME",
        help="of real nodes' pods (default: kitlib-nodes); without FOLDER its manifest is printed",
    )
    made.add_argument("--nodes", type=whole(0), default=3, help="real nodes of each learner (default: 3)")
    made.add_argument("--node-cpus", type=whole(1), default=4, metavar="N", help="of a real node (default: 4)")
    made.add_argument("--node-memory", default="8Gi", metavar="SIZE", help="of a real node (default: 8Gi)")
    made.add_argument("--node-image", default="registry.example/kitlib-node:1", metavar="IMAGE", help="of real nodes")
    made.add_argument(
        "--for",
        dest="subjects",
        nargs="+",
        metavar="WHO",
        help="who may have real nodes, each in a namespace of its own: user:NAME, group:NAME, "
        "serviceaccount:NAMESPACE:NAME (default: a service account of the hub for each of --learners)",
    )
    made.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from kitlib.api.errors import KitError
    from kitlib.workshop import RESERVE, Limits, kubernetes, roster, trainers_edition, write
    from kitlib.workshop.nodes_namespace import NodesNamespace

    if options.rehearse:
        return _rehearse(options)
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
            raise KitError("a FOLDER for the recipe is expected, or --namespace NAME")
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
        raise KitError("--rehearse: the FOLDER of a recipe is expected")
    found = rehearse(
        options.folder,
        options.rehearse,
        lambda text: print(text, flush=True),
        expected=not options.without_roster,
    )
    print(found)
    return 1 if found.problems else 0
