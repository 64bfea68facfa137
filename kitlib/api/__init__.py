"""Objects of the Kubernetes API as Python types: quantities, selectors, defaults, serialization, releases, errors.

Imported by every package of the kit.
Face: `serialize.from_dict` and `to_dict`, `core`, `release.Release`, `errors.KitError`.
"""
