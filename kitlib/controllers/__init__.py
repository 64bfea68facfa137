"""kube-controller-manager: each controller brings one kind of object to its desired state (`manager.CONTROLLERS`).

Imported by cluster and what is above it; study does not know it.
Face: `manager.ControllerManager`, and the table `descriptors.CONTROLLERS`.

Source: cmd/kube-controller-manager, pkg/controller.
"""
