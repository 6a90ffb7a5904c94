from .coupling.coupled_oue import CoupledOUE as CoupledOUE
from .coupling.jrr import JRR as JRR
from .coupling.jrr_local_hashing import JRRLocalHashing as JRRLocalHashing
from .coupling.kary_jrr import KaryJRR as KaryJRR
from .coupling.parameters import algorithm_1 as algorithm_1, theorem2_as_printed as theorem2_as_printed
from .coupling.report_coupling import ReportCoupledRR as ReportCoupledRR
from .dealt import DealtMechanism as DealtMechanism
from .quota.batches import QuotaBatches as QuotaBatches, smallest_batch as smallest_batch
from .quota.quota_rr import QuotaRR as QuotaRR
from .quota.records import QuotaRecords as QuotaRecords
from .quota.unary import QuotaUnary as QuotaUnary
from .several_deals import combine_deals as combine_deals, estimate_deals as estimate_deals
from .shares import Dealer as Dealer, Shares as Shares, fresh_deal_id as fresh_deal_id
