"""CPU time on the simulated kernel: shares by weight, quotas and their ticks, bursts.

Imported by the simulated kernel and by the picture of shares. Face: `scheduler.CPUScheduler`.
"""
