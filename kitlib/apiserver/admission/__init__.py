"""Writes to the API: the API server, its admission plugins in upstream's order, strategies, subresources, custom kinds.

Imported by http, controllers and cluster.
Face: `apiserver.APIServer`, and the list `plugins.PLUGINS`.
"""
