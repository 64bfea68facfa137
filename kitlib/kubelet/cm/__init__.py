"""The container manager: from pods and node configuration to the desired cgroup tree.

Imported by the kubelet's loop, by nodes of both kernels, and by lessons and views. Face: `node_config.NodeConfig`,
`desired.desired_tree`, `cgroup_tree.CgroupTree`.
"""
