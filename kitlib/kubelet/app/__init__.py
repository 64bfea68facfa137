"""The start of the kubelet: reads the settings and validates them, alone and against the machine (cmd/kubelet/app).

Imported by nodes, lessons and commands that take settings. Face: `read.read_settings`, `node_validation.check_node`.
"""
