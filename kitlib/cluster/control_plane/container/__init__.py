"""The control plane of real nodes in a container of its own, with store, admission, controllers and scheduler.

Imported by the cluster of real nodes alone. Face: `client.ContainerControlPlaneClient`.

`agent` runs in the container, `client` is the cluster in the user's process, `relay` passes lines between the control
plane and the nodes. The user's process owns all streams and decides nothing.
"""
