"""The interface between a cluster and the HTTP server that serves its API."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, Self


class ServedAPI(Protocol):
    """A cluster's API over HTTP, see `kitlib.apiserver.http`; it is closed with the cluster or by a `with` block."""

    @property
    def address(self) -> str:
        """The address `https://127.0.0.1:PORT`."""
        ...

    @property
    def config(self) -> dict[str, Any]:
        """The kubeconfig for clients of this server."""
        ...

    def add_user(self, name: str, groups: Iterable[str] = ()) -> str:
        """Add a user whose rights come from roles and bindings, and return its token."""
        ...

    def close(self) -> None:
        """Stop answering."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class Serve(Protocol):
    """The function that serves a cluster."""

    def __call__(self, cluster: Any, **options: Any) -> ServedAPI: ...
