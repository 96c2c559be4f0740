"""What can be read off a model's hidden states, beside what can be seen without them."""

from psychollm.studies.probes.class_shares import ClassShares, class_shares
from psychollm.studies.probes.early_exit import EarlyExit, early_exit
from psychollm.studies.probes.probe import StateProbe, state_probe
from psychollm.studies.probes.transfer import ProbeTransfer, probe_transfer

__all__ = [
    "ClassShares",
    "EarlyExit",
    "ProbeTransfer",
    "StateProbe",
    "class_shares",
    "early_exit",
    "probe_transfer",
    "state_probe",
]
