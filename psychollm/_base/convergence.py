"""How an iteration ended."""

from dataclasses import dataclass

from psychollm._base.entry import warn
from psychollm._base.errors import ConvergenceWarning


@dataclass(frozen=True, slots=True, kw_only=True)
class Convergence:
    """How an iteration ended: part of every iterative result."""

    converged: bool
    iterations: int
    reason: str
    objective: float

    @classmethod
    def of_gradient(
        cls, *, converged: bool, steps: int, gradient: float, objective: float
    ) -> "Convergence":
        """Say how a descent ended, and how large a gradient is left where it stopped early."""
        reason = "converged" if converged else f"a gradient of {gradient:.1e} is left"
        return cls(converged=converged, iterations=steps, reason=reason, objective=objective)

    @classmethod
    def of_steps(
        cls,
        *,
        converged: bool,
        steps: int,
        objective: float,
        otherwise: str = "the limit of steps was reached",
    ) -> "Convergence":
        """Say how an iteration ended that stops `otherwise` where it does not converge."""
        reason = "converged" if converged else otherwise
        return cls(converged=converged, iterations=steps, reason=reason, objective=objective)

    def warn(self, what: str) -> None:
        """Issue a `ConvergenceWarning` if the iteration did not converge."""
        if not self.converged:
            msg = f"{what} did not converge after {self.iterations} iterations: {self.reason}"
            warn(msg, ConvergenceWarning)
