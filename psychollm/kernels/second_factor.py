r"""Score contributions of each question, for testing a second factor.

A model answers yes with probability :math:`P_i(u_i)`, where :math:`u_i = a_i f + d_i`. If a second
factor g, independent of f and standard normal, entered as :math:`u_i + b_i g`, the log-likelihood
of a question would change, to second order in b, by

.. math:: \tfrac12 \sum_{i \ne j} b_i b_j s_{ij}, \qquad
          s_{ij} = E\big[\ell_i'(u_i)\,\ell_j'(u_j) \mid \text{answers}\big],          \quad (1)

where the expectation is over the posterior of f, and :math:`\ell_i'` is the derivative of the log
probability of model i's answer. Terms with i = j are omitted, because a factor on which a single
model loads is not identified.
"""

from psychollm.kernels._jit import njit

NEGLIGIBLE = 1e-8  # posterior weight below which a node is skipped


@njit
def second_factor_scores(weights, yes, no, up, down, out):
    """Fill `out` (questions, pairs) with s of equation (1), in the order of the lower triangle."""
    # weights (questions, nodes): posteriors. yes, no (questions, models): 1 for a yes and for a
    # no, respectively. up, down (nodes, models): derivatives of log P and of log (1 - P).
    models = yes.shape[1]
    value = up[0].copy()
    for q in range(weights.shape[0]):
        out[q, :] = 0.0
        for t in range(weights.shape[1]):
            w = weights[q, t]
            if w < NEGLIGIBLE:
                continue
            pair = 0
            for i in range(models):
                value[i] = yes[q, i] * up[t, i] + no[q, i] * down[t, i]
                scaled = w * value[i]
                for j in range(i):
                    out[q, pair + j] += scaled * value[j]
                pair += i
