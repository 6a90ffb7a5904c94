"""Files in and out: answers, reports, and the streaming jobs over them."""

from deniable.io.dealing import DealResult as DealResult
from deniable.io.dealing import deal_file as deal_file
from deniable.io.dealing import hand_out as hand_out
from deniable.io.jobs import DraftResult as DraftResult
from deniable.io.jobs import Progress as Progress
from deniable.io.jobs import RandomizeResult as RandomizeResult
from deniable.io.jobs import aggregate_files as aggregate_files
from deniable.io.jobs import count_texts as count_texts
from deniable.io.jobs import draft_schema_file as draft_schema_file
from deniable.io.jobs import merge_files as merge_files
from deniable.io.jobs import randomize_file as randomize_file
from deniable.io.jobs import read_truth as read_truth
from deniable.io.reports import ReportReader as ReportReader
from deniable.io.reports import write_reports as write_reports
from deniable.io.tables import AnswerReader as AnswerReader
from deniable.io.tables import open_answers as open_answers
