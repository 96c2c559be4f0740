from psychollm.reports.form import write_form as write_form
from psychollm.reports.study import report_text as report_text
from psychollm.reports.study import write_report as write_report
