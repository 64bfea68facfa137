"""`kitlib up`: a cluster for all Kubernetes tools, until Ctrl-C."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from kitlib.commands.arguments import file_name, number, port_or_any, whole

COMPONENTS = ("kube-controller-manager", "kube-scheduler")


def add(commands: Any) -> None:
    made = commands.add_parser(
        "up",
        help="make a cluster and serve the Kubernetes API for kubectl, helm and other clients",
        description="Makes a cluster, serves its API on a free port of the loopback interface (TLS, bearer token), "
        "writes a kubeconfig, and prints a line that begins with 'ready'. It ends with Ctrl-C, SIGTERM, or the end of "
        "the process that started it, and leaves nothing behind.",
    )
    made.add_argument("manifests", nargs="*", metavar="MANIFEST", help="manifests to apply at the start")
    made.add_argument(
        "--kind",
        choices=("simulated", "docker", "kubernetes", "hollow"),
        default="simulated",
        help="kind of nodes (default: simulated); with kubernetes, each node is a pod in your kubeconfig's cluster "
        "(image: KITLIB_NODE_IMAGE)",
    )
    made.add_argument("--nodes", type=whole(0), default=3, help="number of nodes (default: 3)")
    made.add_argument(
        "--kubelet-config",
        type=file_name,
        metavar="FILE",
        help="file with a KubeletConfiguration for all nodes; can also be one of the manifests",
    )
    made.add_argument(
        "--machines",
        type=file_name,
        metavar="FILE",
        help="file that describes each node, instead of --nodes: a YAML list of nodes as for Cluster.simulated (name, "
        "cpus, memory, labels, kubelet, ...), or Node manifests",
    )
    made.add_argument("--release", default="", help="Kubernetes release (default: the newest)")
    made.add_argument(
        "--kubeconfig",
        type=file_name,
        metavar="FILE",
        help="path of the kubeconfig to write (default: a temporary file)",
    )
    made.add_argument("--merge", action="store_true", help="also add the cluster to your own kubeconfig")
    made.add_argument(
        "--viewer",
        action="store_true",
        help="add a second user with read-only access (context kitlib-viewer, ClusterRole view)",
    )
    made.add_argument(
        "--port", type=port_or_any, default=0, help="port of the API server, 1 to 65535 (default: a free port)"
    )
    made.add_argument(
        "--pace",
        type=number(0),
        default=1.0,
        help="speed of time on simulated nodes, in virtual seconds per real second (default: 1)",
    )
    made.add_argument(
        "--without",
        action="append",
        default=[],
        choices=COMPONENTS,
        help="do not run this component, because you run your own; can be repeated",
    )
    made.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from kitlib.apiserver.http.credentials import remove_dead_context
    from kitlib.apiserver.http.server import GenericAPIServer

    if remove_dead_context(_users_own(), "kitlib"):
        print(f"removed the context of a cluster that has gone from {_users_own()}")
    ended = threading.Event()
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, lambda *_: ended.set())
    with tempfile.TemporaryDirectory(prefix="kitlib-up-") as folder, _cluster(options) as cluster:
        cluster.journal.is_open = False  # nothing replays it, and programs may write for days
        path = Path(options.kubeconfig or os.path.join(folder, "kubeconfig")).absolute()
        with GenericAPIServer(cluster, port=options.port, pace=options.pace, kubeconfig_path=path) as service:
            with service.lock:
                for manifest in options.manifests:
                    objects = _objects(manifest)
                    cluster.apply(Path(manifest) if objects is None else objects)
            if options.viewer:
                _add_viewer(cluster, service)
            merged = _merge(service.config) if options.merge else None
            try:
                print(f"export KUBECONFIG={path}    # then: kubectl get nodes")
                print(f"ready {service.address}", flush=True)
                parent = os.getppid()
                # A parent that is killed sends no signal; its death shows only in a new parent ID.
                while not ended.wait(0.5) and os.getppid() == parent:
                    pass
            finally:
                if merged is not None:
                    from kitlib.apiserver.http.credentials import remove_from_kubeconfig

                    remove_from_kubeconfig(merged, "kitlib")
    sys.stdout.flush()
    return 0


def _cluster(options: argparse.Namespace) -> Any:
    from datetime import UTC, datetime

    from kitlib.cluster import Cluster

    settings: dict[str, Any] = {"release": options.release} if options.release else {}
    if "kube-controller-manager" in options.without:
        settings["controllers"] = False
    if "kube-scheduler" in options.without:
        settings["scheduler"] = False
    kubelet = _kubelet_configuration(options)
    if kubelet is not None:
        settings["kubelet"] = kubelet
    nodes = _machines(options.machines) if options.machines else options.nodes
    if options.kind == "docker":
        return Cluster.docker(nodes, control_plane="process", **settings)
    if options.kind == "kubernetes":
        return Cluster.kubernetes(nodes, **settings)
    if options.kind == "hollow":
        settings["kubelets"] = False
    settings["start"] = datetime.now(UTC).replace(microsecond=0)  # clients count ages from the machine's time
    return Cluster.simulated(nodes, **settings)


def _documents(path: str) -> list[Any]:
    from kitlib.api.boundary import not_utf8
    from kitlib.api.errors import KitError
    from kitlib.api.yaml_reader import yaml_documents

    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise KitError(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise KitError(f"{path}: {not_utf8(error)}") from None
    return [document for document in yaml_documents(text, path) if document]


def _objects(path: str) -> list[Any] | None:
    """Return the objects of a file without its KubeletConfigurations; None if there are none, or it is not a file."""
    if not os.path.isfile(path):
        return None
    documents = _documents(path)
    objects = [document for document in documents if not _configures_kubelet(document)]
    return objects if len(objects) < len(documents) else None


def _configures_kubelet(document: Any) -> bool:
    return isinstance(document, dict) and document.get("kind") == "KubeletConfiguration"


def _kubelet_configuration(options: argparse.Namespace) -> Any:
    """Return the KubeletConfiguration of --kubelet-config, or of the manifests; None if there is none.

    Raises:
        KitError: there is more than one.
    """
    from kitlib.api.errors import KitError

    files = [options.kubelet_config] if options.kubelet_config else []
    found = [(path, document) for path in files for document in _documents(path)]
    manifests = [path for path in options.manifests if os.path.isfile(path)]
    found += [(path, document) for path in manifests for document in _documents(path) if _configures_kubelet(document)]
    if len(found) > 1:
        places = ", ".join(path for path, _ in found)
        raise KitError(
            f"KubeletConfiguration: only one is allowed for all nodes, got {len(found)} in {places}; configure single "
            "nodes with --machines"
        )
    return found[0][1] if found else None


def _machines(path: str) -> list[Any]:
    """Return the nodes of --machines.

    Raises:
        KitError: a document is neither a list of specifications nor a Node.
    """
    from kitlib.api.core import Node
    from kitlib.api.errors import KitError
    from kitlib.api.serialize import from_dict

    made: list[Any] = []
    for document in _documents(path):
        if isinstance(document, list):
            made += document
        elif isinstance(document, dict) and document.get("kind") == "Node":
            made.append(from_dict(document, Node))
        else:
            raise KitError(f"{path}: must be a list of nodes or Node manifests, got {str(document)[:60]!r}")
    return made


def _add_viewer(cluster: Any, service: Any) -> None:
    """Add the read-only user; its role is an object of the cluster, so a change of it takes effect."""
    from kitlib.apiserver.http.rbac import VIEW, VIEW_BINDING, VIEWER

    with service.lock:
        for one in (VIEW, VIEW_BINDING):
            cluster.apply(one)
    service.add_user(VIEWER)
    print(f"kubectl --context kitlib-{VIEWER} get pods    # a user who may only read")


def _users_own() -> Path:
    """Return the path of the user's own kubeconfig."""
    named = os.environ.get("KUBECONFIG", "").split(os.pathsep)[0]
    return Path(named) if named else Path.home() / ".kube" / "config"


def _merge(config: dict[str, Any]) -> Path:
    from kitlib.apiserver.http.credentials import merge_kubeconfig

    merge_kubeconfig(_users_own(), config)
    return _users_own()
