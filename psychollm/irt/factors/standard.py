r"""Factors in standard position.

Scores get mean 0 and covariance 1 in the population of models; of the rotations left, the one is
taken whose factors explain, one after the other, as much of the logits as can be.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from psychollm._base.types import FloatArray
from psychollm.irt.factors.rounds import Ascent, Questions, unpacked

CHUNK = 1 << 16  # questions whose covariances are turned at once


@dataclass(frozen=True, slots=True)
class Position:
    """How logits are expressed by standard scores: u = centre + root z."""

    centre: FloatArray  # (q,) of models' vectors
    root: FloatArray  # (q, k)

    @classmethod
    def of(cls, ascent: Ascent) -> Position:
        """Find it for the answers, the first kind of questions."""
        models, answers = ascent.models, ascent.kinds[0]
        k = answers.mean.shape[1] - answers.known - 1
        q = models.mean.shape[1]
        centre = models.population.coefficients[0]
        covariance = np.linalg.inv(models.population.precision)
        root = np.zeros((q, k))
        root[q - k :] = np.linalg.cholesky(covariance[q - k :, q - k :])
        loadings = answers.mean[:, -k:] if k else answers.mean[:, :0]
        second = loadings.T @ loadings
        d = answers.mean.shape[1]
        second += unpacked(answers.packed.sum(axis=0), d)[d - k :, d - k :]
        _, axes = np.linalg.eigh(root[q - k :].T @ second @ root[q - k :])
        turned = root @ axes[:, ::-1]
        sign = np.sign((loadings @ turned[q - k :]).sum(axis=0))
        return cls(centre, turned * np.where(sign < 0.0, -1.0, 1.0))

    def questions(self, those: Questions) -> tuple[FloatArray, FloatArray]:
        """Return intercepts with loadings (m, 1 + k), and their covariances (m, 1 + k, 1 + k)."""
        q, k = self.root.shape
        d, known = those.mean.shape[1], those.known
        # The logit is f a + b + u'v: f known, and v the last entries.
        turn = np.zeros((1 + k, d))
        turn[0, known] = 1.0
        turn[0, d - k :] = self.centre[q - k :]
        turn[1:, d - k :] = self.root[q - k :].T
        if known:
            turn[0, 0] = self.centre[0]
        mean = those.mean @ turn.T
        covariance = np.empty((len(mean), 1 + k, 1 + k))
        for low in range(0, len(mean), CHUNK):
            part = unpacked(those.packed[low : low + CHUNK], d)
            covariance[low : low + CHUNK] = turn @ part @ turn.T
        return mean, covariance

    def scores(self, ascent: Ascent) -> tuple[FloatArray, FloatArray]:
        """Return standard scores (n, k) and their covariances (n, k, k)."""
        q, k = self.root.shape
        back = np.linalg.inv(self.root[q - k :])
        models = ascent.models
        mean = (models.mean[:, q - k :] - self.centre[q - k :]) @ back.T
        return mean, back @ models.covariance[:, q - k :, q - k :] @ back.T
