"""The start of the kubelet: settings are read, checked by themselves and against the machine (cmd/kubelet/app)."""
