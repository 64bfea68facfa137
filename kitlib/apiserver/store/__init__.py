"""The object store: objects, resource versions, watches."""
