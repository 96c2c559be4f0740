"""Floor 2: the table of responses, and all that reads, checks, counts or simulates one."""

from psychollm._base.entry import entries
from psychollm.data.alignment import Aligned, align
from psychollm.data.examples import Example, Recorded, load_example
from psychollm.data.logs import read_logs, read_scores
from psychollm.data.logs_categories import read_categories
from psychollm.data.logs_result import LogImport, ScoreLog
from psychollm.data.pair_counts import PairCounts
from psychollm.data.pair_counts_blocks import count_blocks, read_pair_counts, stream_responses
from psychollm.data.readers import read_clusters, read_responses, read_table
from psychollm.data.responses import Responses, as_responses
from psychollm.data.sampled import SampledAnswers
from psychollm.data.scan import Scan, scan
from psychollm.data.screen import Screen, validity_screen
from psychollm.data.simulate import Simulated, SimulatedRatings, simulate_factor, simulate_meta_d
from psychollm.data.simulate_study import SimulatedStudy, StudyTruth, simulate_study

__all__ = [
    "Aligned",
    "Example",
    "LogImport",
    "PairCounts",
    "Recorded",
    "Responses",
    "SampledAnswers",
    "Scan",
    "ScoreLog",
    "Screen",
    "Simulated",
    "SimulatedRatings",
    "SimulatedStudy",
    "StudyTruth",
    "align",
    "as_responses",
    "count_blocks",
    "load_example",
    "read_categories",
    "read_clusters",
    "read_logs",
    "read_pair_counts",
    "read_responses",
    "read_scores",
    "read_table",
    "scan",
    "simulate_factor",
    "simulate_meta_d",
    "simulate_study",
    "stream_responses",
    "validity_screen",
]

entries(globals())
