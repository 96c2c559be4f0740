"""Side information as numbers."""

import numpy as np
import pandas as pd

from psychollm.studies.prediction.side import gap_features, label_features, table_features


def test_columns_become_numbers():
    table = pd.DataFrame(
        {
            "minutes": [1.0, 10.0, 100.0, np.nan],
            "size": [1.0, 2.0, 3.0, 4.0],
            "day": pd.to_datetime(["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04"]),
            "domain": ["a", "b", "a", None],
            "same": [2, 2, 2, 2],
        },
        index=list("wxyz"),
    )
    found = table_features(table, tuple("zwxy"))
    root = np.sqrt(1.5)
    np.testing.assert_allclose(found[:, 0], [0.0, -root, 0.0, root], atol=1e-12)  # of the logs
    np.testing.assert_allclose(found[:, 1], np.array([1.5, -1.5, -0.5, 0.5]) / np.sqrt(1.25))
    np.testing.assert_allclose(found[:, 2], found[:, 1])
    np.testing.assert_array_equal(found[:, 3], [0.0, 1.0, 0.0, 1.0])  # only "a" occurs twice
    assert found.shape == (4, 4)


def test_labels_of_a_family_are_alike():
    labels = tuple(f"{family}-{k}" for family in ("claude opus", "qwen coder") for k in range(6))
    features = label_features(labels)
    same = features[0] @ features[1]
    other = features[0] @ features[7]
    assert same > 0.5 > 0.0 > other
    assert label_features((1, 2, 3)).shape == (3, 0)
    assert label_features(("q1", "q2", "q3")).shape == (3, 0)  # nothing but digits differs


def test_gaps_tell_sources_apart_either_way_round():
    answered = np.zeros((10, 25), dtype=bool)
    answered[:6, :12] = True
    answered[4:, 12:] = True
    for table, kind in ((answered, "questions"), (answered.T, "models")):
        features = gap_features(table, kind)
        assert features.shape[0] == 25
        within = np.linalg.norm(features[0] - features[5])
        between = np.linalg.norm(features[0] - features[20])
        assert within < 1e-6 < 1.0 < between
