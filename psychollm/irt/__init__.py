"""Floor 3: item response theory."""
from psychollm.irt.fit import fit_irt
from psychollm.irt.priors import Priors
from psychollm.irt.result import IRTFit
__all__ = ["IRTFit", "Priors", "fit_irt"]
