"""Words that people type into the search of the site, and the page that each word must find."""

from __future__ import annotations

WORDS: dict[str, tuple[str, ...]] = {
    "docs/deployment": ("docker", "dockerfile", "podman", "hosting", "install server", "https", "nginx", "postgres"),
    "docs/forms": ("spss", "stata", "kobo", "odk", "limesurvey", "questionnaire import", "excel"),
    "docs/models": ("regression", "logit", "logistic", "coefficients", "odds ratio", "covariates"),
    "docs/r": ("rstudio", "cran", "survey package"),
    "docs/answers": ("margin of error", "confidence interval", "mean", "median", "standard error", "a/b test"),
    "docs/crosstabs": ("crosstab", "contingency table", "chi-squared", "correlation"),
    "docs/planning": ("sample size", "power", "how many people"),
    "docs/designs": ("randomized response technique", "crosswise model", "warner", "sensitive questions", "interview"),
    "docs/collecting": ("online survey", "qr code", "dashboard", "link"),
    "docs/embedding": ("iframe", "website", "wordpress", "npm"),
    "docs/client": ("javascript", "typescript", "browser"),
    "docs/epsilon": ("gdpr", "anonymous", "privacy budget"),
    "docs/templates/dpia": ("dpia", "gdpr", "ethics", "irb"),
    "docs/templates/consent": ("consent form", "informed consent"),
    "docs/engines": ("spark", "duckdb", "database", "cluster"),
    "docs/tutorial": ("getting started", "quickstart", "csv", "example"),
    "docs/mechanisms": ("randomized response", "rappor", "local hashing", "hadamard"),
    "docs/extending": ("plugin", "custom mechanism"),
    "docs/cli": ("command line", "terminal"),
}
"""Extra search words of a page, for words that are not on the page."""


def with_words(page: str, text: str) -> str:
    """Return a page with its search words in MyST syntax."""
    if page not in WORDS:
        return text
    single = sorted({word for said in WORDS[page] for word in said.split()})
    return f'---\nmyst:\n  html_meta:\n    "keywords": "{", ".join(single)}"\n---\n\n{text}'
