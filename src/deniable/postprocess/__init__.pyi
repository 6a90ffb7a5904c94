from .consistency import (
    base_cut as base_cut,
    clip_normalize as clip_normalize,
    norm_sub as norm_sub,
    simplex as simplex,
)
from .em import iterative_bayes as iterative_bayes, iterative_bayes_reports as iterative_bayes_reports
from .shared_prior import (
    hierarchical as hierarchical,
    noise_variances as noise_variances,
    shared_domains as shared_domains,
)
from .smoothing import smooth as smooth
from .steps import postprocess as postprocess
