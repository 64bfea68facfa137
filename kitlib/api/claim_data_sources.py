"""Where the content of a PersistentVolumeClaim comes from: two fields that follow each other.

The older `dataSource` knows claims and snapshots and drops everything else without a word; `dataSourceRef` keeps what
it is given, to be validated.

Source: pkg/api/persistentvolumeclaim util.go (DropDisabledFields, EnforceDataSourceBackwardsCompatibility,
NormalizeDataSources), KEP-1495.
"""

from __future__ import annotations

from kitlib.api.volume import PersistentVolumeClaimSpec, TypedLocalObjectReference, TypedObjectReference

_KNOWN = (("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot"))


def prepare_data_sources(spec: PersistentVolumeClaimSpec, old: PersistentVolumeClaimSpec | None) -> None:
    """Drop what may not be asked for, and fill the other field in; in place.

    Sources in other namespaces are dropped: the gate CrossNamespaceVolumeDataSource is alpha.

    Args:
        spec: of a claim.
        old: as it stands; None where it is new.
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
    """The field that is missing follows the other one, in place. Source: NormalizeDataSources."""
    source, reference = spec.data_source, spec.data_source_ref
    if source is not None and reference is None:
        spec.data_source_ref = TypedObjectReference(api_group=source.api_group, kind=source.kind, name=source.name)
    elif reference is not None and source is None and not reference.namespace:
        spec.data_source = TypedLocalObjectReference(
            api_group=reference.api_group, kind=reference.kind, name=reference.name
        )
