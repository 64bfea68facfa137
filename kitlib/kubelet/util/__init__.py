"""What several parts of the kubelet need: lists of CPUs, Go durations."""
