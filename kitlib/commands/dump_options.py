"""Options of the commands about a cluster: the output of kubectl, or a running cluster."""

from __future__ import annotations

import argparse
import atexit
import gc
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from kitlib.commands.arguments import file_name

if TYPE_CHECKING:
    from kitlib.advisor.dump import Dump
    from kitlib.api.serialize import Source


def add_dump_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for the source of a cluster's objects and for the output format."""
    parser.add_argument(
        "-f",
        "--file",
        type=file_name,
        action="append",
        help="file with the output of kubectl get (default: standard input)",
    )
    parser.add_argument("--live", action="store_true", help="read the cluster of your kubeconfig (only list requests)")
    parser.add_argument("--context", default="", help="context of the kubeconfig to read; implies --live")
    parser.add_argument(
        "--kubeconfig",
        type=file_name,
        help="path of the kubeconfig for --live (default: $KUBECONFIG, ~/.kube/config)",
    )
    parser.add_argument("--release", help="Kubernetes release, 1.23 to 1.37 (default: that of the newest kubelet)")
    parser.add_argument("--redact", action="store_true", help="replace the names of nodes, pods and labels")


def is_live(options: argparse.Namespace) -> bool:
    """Return whether a running cluster is read.

    Raises:
        KitError: a file is given too.
    """
    from kitlib.api.errors import KitError

    live = bool(options.live or options.context)
    if live and options.file:
        raise KitError("--live and --file cannot be used together")
    return live


def sources_of(options: argparse.Namespace) -> list[Source]:
    """Return the files, or the text of standard input, which can be read only once."""
    from kitlib.api.serialize import read_source

    if options.file:
        return [Path(file) for file in options.file]  # a path, whatever characters its name has
    text, _ = read_source(sys.stdin)
    return [f"{text}\n" if isinstance(text, str) else text]  # a line break prevents that text is taken for a path


def read_dump(options: argparse.Namespace, sources: list[Source] | None = None) -> Dump:
    """Return the cluster that the options name.

    Args:
        options: arguments with the options of `add_dump_options`.
        sources: an earlier result of `sources_of`; None = read now.

    Raises:
        KitError: the input is invalid, or the cluster does not respond.
    """
    from kitlib.advisor.dump import Dump
    from kitlib.advisor.live_cluster import read_cluster

    no_collection_at_exit()
    if is_live(options):
        return read_cluster(options.kubeconfig or "", context=options.context, release=options.release)
    return Dump.read(*(sources if sources is not None else sources_of(options)), release=options.release)


def no_collection_at_exit() -> None:
    """Leave the objects to the operating system when the process ends.

    Python's last collection walks a large cluster for half a second and frees nothing that another program could use
    before the process has ended. Source: Py_FinalizeEx calls atexit's functions before finalize_modules.
    """
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)


def redactor(options: argparse.Namespace, dump: Dump) -> Callable[[str], str]:
    """Return the function that every printed text passes through."""
    from kitlib.advisor.redact import Redactor, visible

    if not options.redact:
        return visible
    hidden = Redactor(dump.objects).text
    return lambda text: visible(hidden(text))
