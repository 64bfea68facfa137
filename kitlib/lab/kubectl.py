"""kubectl in a notebook: requests to the lesson's cluster from JupyterLab's terminal, after `!`, and by `%kubectl`.

`kitlib lab` names a kubeconfig for terminals and kernels; whichever lesson made a cluster last writes it. A cell has
the cluster to itself while it runs; requests of clients are answered between cells, and while a cell waits in
`!kubectl` or `%kubectl`. On simulated nodes time passes for clients only while one of them waits.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from kitlib.api.errors import KitError

VARIABLE = "KITLIB_KUBECONFIG"
"""Environment variable with the path of the lesson's kubeconfig; set by `kitlib lab`."""
FILE = ".kitlib-kubeconfig"
"""Name of the kubeconfig in the course folder."""
HOW_TO_GET_IT = """kubectl is not installed. How to get it:
    Debian 13         sudo apt install kubectl
    Debian 12         its kubernetes-client is kubectl 1.20, too old; https://pkgs.k8s.io has the newest
    Ubuntu            sudo snap install kubectl --classic (Ubuntu has no package of it), or https://pkgs.k8s.io
    macOS             brew install kubectl
    Windows           winget install Kubernetes.kubectl
    others            https://kubernetes.io/docs/tasks/tools/"""
_COLUMN = re.compile(r"\S+(?: \S+)*\s*")
_TABLES = ("get", "top", "events", "api-resources")
_hooked: list[Any] = []


def environment(folder: Path) -> dict[str, str]:
    """Return the variables by which terminals and kernels find the lesson's cluster."""
    path = str(folder / FILE)
    return {VARIABLE: path, "KUBECONFIG": path}


def is_wanted(variables: Mapping[str, str] = os.environ) -> bool:
    """Return whether a lesson's cluster is to be served here."""
    return bool(variables.get(VARIABLE))


class Served:
    """A lesson's cluster, served until `close`.

    Args:
        cluster: the lesson's cluster.
        path: path of the kubeconfig to write.
    """

    def __init__(self, cluster: Any, path: Path) -> None:
        from kitlib.apiserver.http.server import GenericAPIServer

        self.service = GenericAPIServer(
            cluster,
            kubeconfig_path=path,
            only_while_waited=not hasattr(cluster, "refresh"),
            service_accounts=False,
        )
        self.service.start()
        hook(self)

    def close(self) -> None:
        """Stop answering."""
        with _released():
            self.service.close()
        if self in _hooked:
            _hooked.remove(self)


def serve(cluster: Any) -> Served | None:
    """Serve a lesson's cluster if it is wanted and has an API server; else return None."""
    if not is_wanted() or not hasattr(cluster, "api"):
        return None
    try:
        return Served(cluster, Path(os.environ[VARIABLE]))
    except ImportError:  # the extra `api` is not installed
        return None


def hook(served: Served) -> None:
    """Give cells and widget callbacks exclusive use of the cluster; a cell that waits for kubectl releases it."""
    with suppress(ImportError):
        from IPython.core.getipython import get_ipython

        shell: Any = get_ipython()
        if shell is None:
            return
        _hooked.append(served)
        if len(_hooked) > 1 or getattr(shell, "kitlib_kubectl", False):
            return
        shell.kitlib_kubectl = True
        # A stack, since cells can run cells (%run); each end releases what its begin acquired, without the clusters
        # that the cell itself has made.
        held: list[list[Served]] = []

        def begin(*_: object) -> None:
            held.append(list(_hooked))
            for one in held[-1]:
                one.service.lock.acquire()

        def end(*_: object) -> None:
            if held:
                for one in held.pop():
                    one.service.lock.release()

        shell.events.register("pre_run_cell", begin)
        shell.events.register("post_run_cell", end)

        def outside(work: Callable[..., Any]) -> Callable[..., Any]:
            def released(*arguments: Any, **options: Any) -> Any:
                with _released():
                    return work(*arguments, **options)

            return released

        shell.system, shell.getoutput = outside(shell.system), outside(shell.getoutput)
        shell.register_magic_function(kubectl, "line_cell", "kubectl")


@contextmanager
def _released() -> Iterator[None]:
    """Admit clients while this cell waits for one of them."""
    freed = []
    for one in _hooked:
        with suppress(RuntimeError):  # this thread does not hold it
            one.service.lock.release()
            freed.append(one)
    try:
        yield
    finally:
        for one in freed:
            one.service.lock.acquire()


def kubectl(line: str, cell: str | None = None) -> Any:
    """Run kubectl on the lesson's cluster; a table is returned as a frame, other output is printed.

    `%kubectl get pods -A` in a line; `%%kubectl apply -f -` sends the rest of the cell as its input.

    Raises:
        KitError: kubectl is not installed (the message says how to get it), or it reports an error.
    """
    program = shutil.which("kubectl")
    if program is None:
        raise KitError(HOW_TO_GET_IT)
    words = shlex.split(line)
    with _released():
        result = subprocess.run([program, *words], input=cell, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise KitError(f"kubectl {line}: {(result.stderr or result.stdout).strip()}")
    if result.stderr:
        print(result.stderr, end="")
    if words and words[0] in _TABLES and not any(word.startswith(("-o", "--output", "-w")) for word in words):
        return frame(result.stdout)
    print(result.stdout, end="")
    return None


def frame(text: str) -> Any:
    """Return kubectl's table as a data frame; several tables (`get all`) as a list of them."""
    import pandas as pd

    tables = [part for part in text.split("\n\n") if part.strip()]
    frames = [pd.DataFrame(rows, columns=names) for names, rows in map(parse_table, tables)]
    return frames[0] if len(frames) == 1 else frames or None


def parse_table(text: str) -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows of a table whose columns are aligned with their names."""
    header, *lines = text.rstrip("\n").splitlines()
    found = list(_COLUMN.finditer(header))
    starts = [one.start() for one in found]
    names = [one[0].strip() for one in found]
    ends = [*starts[1:], None]
    return names, [[line[a:b].strip() for a, b in zip(starts, ends, strict=True)] for line in lines if line.strip()]
