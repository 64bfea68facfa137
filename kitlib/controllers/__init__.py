"""kube-controller-manager: each controller brings one kind of object to its desired state (`manager.CONTROLLERS`).

Source: cmd/kube-controller-manager, pkg/controller.
"""
