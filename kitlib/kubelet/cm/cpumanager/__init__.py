"""The CPU manager: which processors a container may run on, and which it has for itself.

Source: kubelet cm/cpumanager; KEP-3570, KEP-2625, KEP-2902, KEP-4800, KEP-4540.
"""

from kitlib.kubelet.cm.cpumanager.packed import CPUManagerError
from kitlib.kubelet.cm.cpumanager.policy_static import CPUState, SMTAlignmentError, StaticPolicy
from kitlib.kubelet.cm.cpumanager.topology import CPUTopology

__all__ = ["CPUManagerError", "CPUState", "CPUTopology", "SMTAlignmentError", "StaticPolicy"]
