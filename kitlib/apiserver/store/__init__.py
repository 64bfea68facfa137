"""The stored objects, their kinds, watches, merges and patches, and the recorder of events.

Imported by admission, http, controllers and cluster.
Face: `store.Store`, `kinds.Resource`.
"""
