"""Floor 6: one self-contained HTML page per study."""

from psychollm.reports.shared_confidence import report_text, write_report

__all__ = ["report_text", "write_report"]
