"""Post-processing: from a raw estimate to one that is consistent, and says what was done."""

from __future__ import annotations

from deniable.postprocess._registry import DECODERS as DECODERS
from deniable.postprocess._registry import POSTPROCESS_NAMES as POSTPROCESS_NAMES
from deniable.postprocess._registry import POSTPROCESSORS as POSTPROCESSORS
from deniable.postprocess._registry import postprocess as postprocess
from deniable.postprocess.consistency import base_cut as base_cut
from deniable.postprocess.consistency import clip_normalize as clip_normalize
from deniable.postprocess.consistency import norm_sub as norm_sub
from deniable.postprocess.consistency import simplex as simplex
from deniable.postprocess.dependence import Decoded as Decoded
from deniable.postprocess.dependence import DecodedTable as DecodedTable
from deniable.postprocess.dependence import dependence_decode as dependence_decode
from deniable.postprocess.em import iterative_bayes as iterative_bayes
from deniable.postprocess.em import iterative_bayes_reports as iterative_bayes_reports
from deniable.postprocess.hierarchical import decode_group as decode_group
from deniable.postprocess.hierarchical import hierarchical as hierarchical
from deniable.postprocess.hierarchical import noise_variances as noise_variances
from deniable.postprocess.hierarchical import shared_domains as shared_domains
from deniable.postprocess.smooth import smooth as smooth
