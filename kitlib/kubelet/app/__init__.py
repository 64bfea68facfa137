"""The start of the kubelet: settings are read, checked by themselves and against the machine (cmd/kubelet/app).

Imported by nodes, lessons and commands that take settings. Face: `read.read_settings`, `node_validation.check_node`.
"""
