"""The simulated kernel: cgroups, processes, memory, CPU time, swap, and the runtime on it.

Imported by simulated nodes, and by forecasts that need a kernel without a node; `real` does not know it.
Face: `kernel.Kernel`, `runtime.SimulatedRuntime`.
"""
