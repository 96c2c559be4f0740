"""Floor 4: the verdict and the whole study, on the embedded example."""

import psychollm as psy
from psychollm.estimates.resampling import Bootstrap


class Study:
    """19 models, 2,000 questions."""

    timeout = 900

    def setup(self) -> None:
        self.example = psy.load_example("shared_confidence")
        psy.dimensionality(self.example.confidence, n_null=19, rng=1)

    def time_load_example(self) -> None:
        psy.load_example("shared_confidence")

    def time_screen(self) -> None:
        psy.validity_screen(self.example.confidence, self.example.correctness)

    def time_dimensionality(self) -> None:
        psy.dimensionality(self.example.confidence, rng=1, n_jobs=2)

    def time_shared_confidence(self) -> None:
        psy.shared_confidence(
            self.example.confidence, self.example.correctness, rng=1, bootstrap=Bootstrap(n_jobs=2)
        )
