"""Files in and out: answers, reports, and the streaming jobs over them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deniable.files.formats.columns import report_arrays as report_arrays
    from deniable.files.formats.reports import ReportReader as ReportReader, write_reports as write_reports
    from deniable.files.formats.tables import AnswerReader as AnswerReader, open_answers as open_answers
    from deniable.files.jobs.aggregating import (
        DraftResult as DraftResult,
        Progress as Progress,
        RandomizeResult as RandomizeResult,
        aggregate_files as aggregate_files,
        count_texts as count_texts,
        draft_schema_file as draft_schema_file,
        merge_files as merge_files,
        randomize_file as randomize_file,
        read_truth as read_truth,
    )
    from deniable.files.jobs.dealing import DealResult as DealResult, deal_file as deal_file, hand_out as hand_out
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
