"""The fields of a KubeSchedulerConfiguration with their types, which are checked before profiles are built.

Source: k8s.io/kube-scheduler/config/v1 types.go.
"""

from __future__ import annotations

from typing import Any

import msgspec

from kitlib.api.convert import convert, in_words
from kitlib.api.errors import KitError, shortened


class PluginRef(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    weight: int | None = None


class PluginSet(msgspec.Struct, frozen=True):
    enabled: list[PluginRef] | None = None
    disabled: list[PluginRef] | None = None


class PluginConfig(msgspec.Struct, frozen=True):
    name: str
    args: dict[str, Any] | None = None


class ProfileShape(msgspec.Struct, frozen=True, rename="camel"):
    scheduler_name: str | None = None
    percentage_of_nodes_to_score: int | None = None
    plugins: dict[str, PluginSet | None] | None = None
    plugin_config: list[PluginConfig] | None = None


class ConfigurationShape(msgspec.Struct, frozen=True, rename="camel"):
    """A KubeSchedulerConfiguration; plugins and extenders check their own arguments."""

    api_version: str | None = None
    kind: str | None = None
    percentage_of_nodes_to_score: int | None = None
    parallelism: int | None = None
    pod_initial_backoff_seconds: int | None = None
    pod_max_backoff_seconds: int | None = None
    profiles: list[ProfileShape] | None = None
    extenders: list[dict[str, Any]] | None = None


def check_configuration(data: Any) -> None:
    """Check the types of a configuration's fields.

    Raises:
        KitError: a field has a wrong type; the message begins with the path of the first one.
    """
    try:
        convert(data, ConfigurationShape)
    except msgspec.ValidationError as error:
        place, problem = in_words(error)
        raise KitError(f"{place or 'KubeSchedulerConfiguration'}: {shortened(problem, 300)}") from None
