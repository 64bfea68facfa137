"""What a cluster knows of the server that stands above it: how it is asked for, and what it answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, Self


class ServedAPI(Protocol):
    """A cluster's API over HTTP, see `kitlib.apiserver.http`; it ends with the cluster, or with a `with` block."""

    @property
    def address(self) -> str:
        """`https://127.0.0.1:PORT`."""
        ...

    @property
    def config(self) -> dict[str, Any]:
        """The kubeconfig that reaches it."""
        ...

    def add_user(self, name: str, groups: Iterable[str] = ()) -> str:
        """A user with the rights that roles and bindings give; its token."""
        ...

    def close(self) -> None:
        """Stop answering."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class Serve(Protocol):
    """How a cluster is served."""

    def __call__(self, cluster: Any, **options: Any) -> ServedAPI: ...
