"""Post-processing: from a raw estimate to one that is consistent, and says what was done."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deniable.postprocess.consistency import (
        base_cut as base_cut,
        clip_normalize as clip_normalize,
        norm_sub as norm_sub,
        simplex as simplex,
    )
    from deniable.postprocess.dependence import (
        Decoded as Decoded,
        DecodedTable as DecodedTable,
        dependence_decode as dependence_decode,
    )
    from deniable.postprocess.em import (
        iterative_bayes as iterative_bayes,
        iterative_bayes_reports as iterative_bayes_reports,
    )
    from deniable.postprocess.shared_prior import (
        decode_group as decode_group,
        hierarchical as hierarchical,
        noise_variances as noise_variances,
        shared_domains as shared_domains,
    )
    from deniable.postprocess.smoothing import smooth as smooth
    from deniable.postprocess.steps import postprocess as postprocess
else:
    from deniable.core.lazy import attach

    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            "deniable.postprocess.steps": "postprocess",
            "deniable.postprocess.consistency": "base_cut clip_normalize norm_sub simplex",
            "deniable.postprocess.dependence": "Decoded DecodedTable dependence_decode",
            "deniable.postprocess.em": "iterative_bayes iterative_bayes_reports",
            "deniable.postprocess.shared_prior": "decode_group hierarchical noise_variances shared_domains",
            "deniable.postprocess.smoothing": "smooth",
        },
    )
