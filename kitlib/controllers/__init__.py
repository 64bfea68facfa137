"""kube-controller-manager: each controller brings one kind of object to its desired state (`manager.CONTROLLERS`).

Imported by cluster and the packages above it, but not by study.
Face: `manager.ControllerManager`, and the table `descriptors.CONTROLLERS`.

Source: cmd/kube-controller-manager, pkg/controller.
"""
