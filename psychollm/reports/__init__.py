"""Floor 7: one self-contained HTML page per study."""

from psychollm._base.entry import entries
from psychollm.reports.calibration import write_calibration_report
from psychollm.reports.comparison import write_comparison
from psychollm.reports.evaluation_card import write_evaluation_card
from psychollm.reports.question_audit import write_question_audit
from psychollm.reports.study import report_text, write_report

__all__ = [
    "report_text",
    "write_calibration_report",
    "write_comparison",
    "write_evaluation_card",
    "write_question_audit",
    "write_report",
]

entries(globals())
