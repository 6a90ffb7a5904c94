from .checking import Checked as Checked, Skipped as Skipped, check_mechanism as check_mechanism
from .foreign import check_foreign as check_foreign
