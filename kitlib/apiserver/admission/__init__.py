"""From a manifest to a stored object: defaulting, validation, quota, limit ranges, priority."""
