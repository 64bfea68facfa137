"""The source of a PersistentVolumeClaim's content: two fields, each filled in from the other.

The older `dataSource` accepts claims and snapshots, and drops every other source silently. `dataSourceRef` keeps its
value for validation.

Source: pkg/api/persistentvolumeclaim util.go (DropDisabledFields, EnforceDataSourceBackwardsCompatibility,
NormalizeDataSources), KEP-1495.
"""

from __future__ import annotations

from kitlib.api.volume import PersistentVolumeClaimSpec, TypedLocalObjectReference, TypedObjectReference

_KNOWN = (("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot"))


def prepare_data_sources(spec: PersistentVolumeClaimSpec, old: PersistentVolumeClaimSpec | None) -> None:
    """Drop sources that are not allowed, and fill in the field that is missing, in place.

    Sources in other namespaces are dropped: the gate CrossNamespaceVolumeDataSource is alpha.

    Args:
        spec: the specification of the new claim.
        old: the specification of the stored claim; None when a claim is created.
    """
    reference = spec.data_source_ref
    if reference is not None and reference.namespace:
        spec.data_source_ref = reference if old is not None and old.data_source_ref is not None else None
    in_use = old is not None and (old.data_source is not None or old.data_source_ref is not None)
    source = spec.data_source
    if not in_use and spec.data_source_ref is None and source is not None:
        spec.data_source = source if (source.api_group or "", source.kind) in _KNOWN else None
    normalize_data_sources(spec)


def normalize_data_sources(spec: PersistentVolumeClaimSpec) -> None:
    """Fill in the missing one of the two fields from the other, in place."""
    source, reference = spec.data_source, spec.data_source_ref
    if source is not None and reference is None:
        spec.data_source_ref = TypedObjectReference(api_group=source.api_group, kind=source.kind, name=source.name)
    elif reference is not None and source is None and not reference.namespace:
        spec.data_source = TypedLocalObjectReference(
            api_group=reference.api_group, kind=reference.kind, name=reference.name
        )
