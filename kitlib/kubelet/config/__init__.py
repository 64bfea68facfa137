"""The kubelet's configuration: flags and KubeletConfiguration, defaults, validation, and the machine that it reads."""
