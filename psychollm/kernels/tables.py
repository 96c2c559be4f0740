"""Many single tables: estimate, thresholds, standard errors."""

import numpy as np

from psychollm.kernels._jit import njit
from psychollm.kernels.table_inference import standard_errors, table_thresholds
from psychollm.kernels.tetrachoric import ADJUSTED, adjust_table, correlate_table

OWN_THRESHOLDS = False


@njit
def correlate_tables(cells, rule):
    """Estimate every row (n11, n10, n01, n00) of `cells`, shape (m, 4)."""
    # Returns (m, 7): rho, 1 - |rho|, residual, both thresholds, both standard errors; and (m, 2):
    # status, steps. Thresholds are those of the table after the empty-cell rule.
    m = cells.shape[0]
    real = np.empty((m, 7))
    codes = np.empty((m, 2), dtype=np.int8)
    for r in range(m):
        n11, n10, n01, n00 = cells[r, 0], cells[r, 1], cells[r, 2], cells[r, 3]
        n = n11 + n10 + n01 + n00
        tau1, tau2 = table_thresholds(n11 + n10, n11 + n01, n)
        rho, rest, steps, left, status = correlate_table(
            n11, n10, n01, n00, (tau1, tau2), rule, OWN_THRESHOLDS
        )
        if status == ADJUSTED:
            n11, n10, n01, n00, _ = adjust_table(n11, n10, n01, n00, rule)
            n = n11 + n10 + n01 + n00
            tau1, tau2 = table_thresholds(n11 + n10, n11 + n01, n)
        first, second = standard_errors(tau1, tau2, rho, rest, n, n, n)
        real[r, 0], real[r, 1], real[r, 2] = rho, rest, left
        real[r, 3], real[r, 4], real[r, 5], real[r, 6] = tau1, tau2, first, second
        codes[r, 0], codes[r, 1] = status, steps
    return real, codes
