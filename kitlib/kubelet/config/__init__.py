"""The kubelet's configuration: flags and KubeletConfiguration, defaults, validation, and the machine that it reads.

Imported by all packages of the kubelet and by nodes of both kernels. Face: `settings.KubeletSettings`,
`machine.MachineInfo`.
"""
