"""The Kubernetes API over HTTP, on top of a cluster: discovery, objects, tables, watches, patches, subresources.

`serve` makes a cluster answer kubectl and every other client of the Kubernetes API. The core (`rest.Rest`) maps a
request to a response without a socket; `server` adds TLS on a loopback port.

Imported by name only, in `cluster.base`, because it needs packages that a cluster does not need.
Face: `serve`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kitlib.apiserver.http.server import GenericAPIServer

__all__ = ["serve"]


def serve(cluster: Any, **options: Any) -> GenericAPIServer:
    """Serve a cluster's objects as the Kubernetes API; options: `kitlib.apiserver.http.server.GenericAPIServer`."""
    from kitlib.apiserver.http.server import GenericAPIServer

    return GenericAPIServer(cluster, **options).start()
