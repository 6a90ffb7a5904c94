"""Files in and out: answers, reports, and the streaming jobs over them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deniable.files.formats.columns import report_arrays as report_arrays
    from deniable.files.formats.reports import ReportReader as ReportReader
    from deniable.files.formats.reports import write_reports as write_reports
    from deniable.files.formats.tables import AnswerReader as AnswerReader
    from deniable.files.formats.tables import open_answers as open_answers
    from deniable.files.jobs.aggregating import DraftResult as DraftResult
    from deniable.files.jobs.aggregating import Progress as Progress
    from deniable.files.jobs.aggregating import RandomizeResult as RandomizeResult
    from deniable.files.jobs.aggregating import aggregate_files as aggregate_files
    from deniable.files.jobs.aggregating import count_texts as count_texts
    from deniable.files.jobs.aggregating import draft_schema_file as draft_schema_file
    from deniable.files.jobs.aggregating import merge_files as merge_files
    from deniable.files.jobs.aggregating import randomize_file as randomize_file
    from deniable.files.jobs.aggregating import read_truth as read_truth
    from deniable.files.jobs.dealing import DealResult as DealResult
    from deniable.files.jobs.dealing import deal_file as deal_file
    from deniable.files.jobs.dealing import hand_out as hand_out
    from deniable.files.jobs.tidying import tidy_file as tidy_file
else:
    from deniable.core.lazy import attach

    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            "deniable.files.formats.columns": "report_arrays",
            "deniable.files.formats.reports": "ReportReader write_reports",
            "deniable.files.formats.tables": "AnswerReader open_answers",
            "deniable.files.jobs.aggregating": "DraftResult Progress RandomizeResult aggregate_files "
            "count_texts draft_schema_file merge_files randomize_file read_truth",
            "deniable.files.jobs.dealing": "DealResult deal_file hand_out",
            "deniable.files.jobs.tidying": "tidy_file",
        },
    )
