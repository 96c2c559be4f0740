"""Floor 7: one self-contained HTML page per study."""

from psychollm._base.entry import entries
from psychollm.reports.form import write_form
from psychollm.reports.study import report_text, write_report

__all__ = [
    "report_text",
    "write_form",
    "write_report",
]

entries(globals())
