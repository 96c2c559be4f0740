"""Convergence status of an iteration."""

from dataclasses import dataclass

from psychollm._base.entry import warn
from psychollm._base.errors import ConvergenceWarning


@dataclass(frozen=True, slots=True, kw_only=True)
class Convergence:
    """Convergence status of an iteration, part of the result of every iterative method."""

    converged: bool
    iterations: int
    reason: str
    objective: float

    @classmethod
    def of_gradient(
        cls, *, converged: bool, steps: int, gradient: float, objective: float
    ) -> "Convergence":
        """Return a minimisation's status; without convergence, the reason states the gradient."""
        reason = "converged" if converged else f"the gradient is still {gradient:.1e}"
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
        """Return the status of an iteration; if it did not converge, `otherwise` is the reason."""
        reason = "converged" if converged else otherwise
        return cls(converged=converged, iterations=steps, reason=reason, objective=objective)

    def warn(self, what: str) -> None:
        """Issue a `ConvergenceWarning` if the iteration did not converge."""
        if not self.converged:
            msg = f"{what} did not converge after {self.iterations} iterations: {self.reason}"
            warn(msg, ConvergenceWarning)
