"""The CPU manager: the processors that a container may run on, and those that it has exclusively.

Imported by `cm`, and by the widget that draws processors. Face: `manager.CPUManager`.

Source: kubelet cm/cpumanager; KEP-3570, KEP-2625, KEP-2902, KEP-4800, KEP-4540.
"""
