r"""Eigenvalue clipping: raise eigenvalues that are not positive, then rescale the diagonal to one.

The method of Knol and Berger (1991, equation 27), with the numbers of R's ``psych::cor.smooth``:
eigenvalues below 1e-12 become 1e-10. It minimises nothing, but needs one decomposition only.

References
----------
Knol, D. L., & Berger, M. P. F. (1991). Empirical comparison between factor analysis and
multidimensional item response models. Multivariate Behavioral Research, 26(3), 457-477.
https://doi.org/10.1207/s15327906mbr2603_5
"""

import numpy as np

from psychollm._base.convergence import Convergence
from psychollm._base.types import FloatArray
from psychollm.correlation.smoothers.cone import Repair, as_correlation, sum_of_squares

# psych looks for an eigenvalue below 2.2e-16 first. That is below the rounding error of a singular
# matrix, where chance decides; we clip whatever is below the number that it then clips at.
TOO_SMALL = 1e-12
RAISED_TO = 100 * TOO_SMALL


def clip(matrix: FloatArray) -> Repair:
    """Raise eigenvalues below `TOO_SMALL` to `RAISED_TO` and rescale."""
    values, vectors = np.linalg.eigh(matrix)
    small = values < TOO_SMALL
    raised = np.where(small, RAISED_TO, values)
    smooth = as_correlation((vectors * raised) @ vectors.T)
    ending = Convergence(
        converged=True,
        iterations=1,
        reason="closed form",
        objective=sum_of_squares(smooth - matrix),
    )
    count = int(np.count_nonzero(small))
    return Repair(smooth, ending, f"{count} of {values.size} eigenvalues raised to {RAISED_TO:g}")
