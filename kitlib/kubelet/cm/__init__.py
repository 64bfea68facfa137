"""The container manager: from pods and node configuration to the desired cgroup tree."""
