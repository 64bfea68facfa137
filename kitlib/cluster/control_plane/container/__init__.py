"""The control plane of real nodes in a container of its own: store, admission, controllers and scheduler run there.

Imported by the cluster of real nodes alone. Face: `client.ContainerControlPlaneClient`.

`agent` is what runs in it, `client` is the cluster as the user's process sees it, `relay` passes lines between the
control plane and the nodes. The user's process holds all streams and decides nothing.
"""
