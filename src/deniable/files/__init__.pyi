from .formats.codebooks import Variable as Variable, variables as variables, write_codebook as write_codebook
from .formats.columns import report_arrays as report_arrays
from .formats.reports import ReportReader as ReportReader, write_reports as write_reports
from .formats.tables import AnswerReader as AnswerReader, open_answers as open_answers
from .formats.xlsform import (
    GarbledQuestion as GarbledQuestion,
    Unmapped as Unmapped,
    XLSForm as XLSForm,
    read_xlsform as read_xlsform,
)
from .jobs.aggregating import (
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
from .jobs.spending import Spending as Spending
from .jobs.tidying import tidy_file as tidy_file
