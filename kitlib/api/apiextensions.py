"""apiextensions.k8s.io/v1: CustomResourceDefinition. Schemas are kept as plain data.

Source: k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1/types.go.
"""

from __future__ import annotations

from typing import Any

import msgspec

from kitlib.api.meta import Condition, KubeObject, KubeStruct
from kitlib.api.numbers import Int32, Int64


class CustomResourceValidation(KubeStruct):
    open_api_v3_schema: dict[str, Any] | None = msgspec.field(name="openAPIV3Schema", default=None)


class CustomResourceSubresourceScale(KubeStruct):
    spec_replicas_path: str = ""
    status_replicas_path: str = ""
    label_selector_path: str | None = None


class CustomResourceSubresources(KubeStruct):
    status: dict[str, Any] | None = None
    scale: CustomResourceSubresourceScale | None = None


class CustomResourceColumnDefinition(KubeStruct):
    name: str = ""
    type: str = ""
    format: str = ""
    description: str = ""
    priority: Int32 = 0
    json_path: str = msgspec.field(name="jsonPath", default="")


class SelectableField(KubeStruct):
    json_path: str = msgspec.field(name="jsonPath", default="")


class CustomResourceDefinitionVersion(KubeStruct):
    name: str = ""
    served: bool = False
    storage: bool = False
    deprecated: bool = False
    deprecation_warning: str | None = None
    schema: CustomResourceValidation | None = None
    subresources: CustomResourceSubresources | None = None
    additional_printer_columns: list[CustomResourceColumnDefinition] = []
    selectable_fields: list[SelectableField] = []


class CustomResourceDefinitionNames(KubeStruct):
    plural: str = ""
    singular: str = ""
    short_names: list[str] = []
    kind: str = ""
    list_kind: str = ""
    categories: list[str] = []


class ServiceReference(KubeStruct):
    namespace: str = ""
    name: str = ""
    path: str | None = None
    port: Int32 | None = None


class WebhookClientConfig(KubeStruct):
    url: str | None = None
    service: ServiceReference | None = None
    ca_bundle: bytes | None = None


class WebhookConversion(KubeStruct):
    client_config: WebhookClientConfig | None = None
    conversion_review_versions: list[str] = []


class CustomResourceConversion(KubeStruct):
    strategy: str = ""
    webhook: WebhookConversion | None = None


class CustomResourceDefinitionSpec(KubeStruct):
    group: str = ""
    names: CustomResourceDefinitionNames = msgspec.field(default_factory=CustomResourceDefinitionNames)
    scope: str = ""
    versions: list[CustomResourceDefinitionVersion] = []
    conversion: CustomResourceConversion | None = None
    preserve_unknown_fields: bool | None = None


class CustomResourceDefinitionStatus(KubeStruct):
    conditions: list[Condition] = []
    accepted_names: CustomResourceDefinitionNames = msgspec.field(default_factory=CustomResourceDefinitionNames)
    stored_versions: list[str] = []
    observed_generation: Int64 = 0


class CustomResourceDefinition(KubeObject):
    api_version: str = "apiextensions.k8s.io/v1"
    kind: str = "CustomResourceDefinition"
    spec: CustomResourceDefinitionSpec = msgspec.field(default_factory=CustomResourceDefinitionSpec)
    status: CustomResourceDefinitionStatus = msgspec.field(default_factory=CustomResourceDefinitionStatus)

    def serves(self, group: str, version: str, kind: str) -> bool:
        """Return whether the definition serves this version, and its kind and group are these."""
        served = (one.name for one in self.spec.versions if one.served)
        return (self.spec.group, self.spec.names.kind) == (group, kind) and version in served
