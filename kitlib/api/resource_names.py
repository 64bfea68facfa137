"""Kinds of resource names: huge pages, Kubernetes' own, extended. Source: pkg/apis/core/v1/helper."""

from __future__ import annotations

from kitlib.api.names import is_qualified_name


def is_huge_page(name: str) -> bool:
    """Source: helper.IsHugePageResourceName."""
    return name.startswith("hugepages-")


def is_native(name: str) -> bool:
    """Return whether a name has no domain or one of Kubernetes' own. Source: helper.IsNativeResource."""
    return "/" not in name or "kubernetes.io/" in name


def is_extended(name: str) -> bool:
    """Return whether a resource has a domain other than kubernetes.io: `example.com/gpu`.

    Source: helper.IsExtendedResourceName.
    """
    return not is_native(name) and not name.startswith("requests.") and not is_qualified_name(f"requests.{name}")
