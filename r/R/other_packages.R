# Arguments of other packages for randomised responses and for survey samples.

scores <- function(object, reports) {
  if (is.null(object$counts) || !identical(object$supported, c(1, 1))) {
    stop(sprintf("reports of %s must be one category each; survey designs need one number for every report",
                 dQuote(object$attribute, FALSE)), call. = FALSE)
  }
  codes <- if (is.numeric(reports)) reports + 1 else match(reports, object$labels)
  if (anyNA(codes) || any(codes < 1 | codes > length(object$labels))) {
    stop(sprintf("reports must be categories of %s, or codes that start at 0, got something else in row %d",
                 dQuote(object$attribute, FALSE),
                 which(is.na(codes) | codes < 1 | codes > length(object$labels))[1]), call. = FALSE)
  }
  supports <- outer(codes, seq_along(object$labels), `==`)
  made <- as.data.frame((supports - object$q) / (object$p - object$q))
  names(made) <- object$labels
  made
}

# Reports of one category each. Their order has no meaning.
reports_of <- function(object) rep(seq_along(object$labels) - 1, object$counts)

as_svydesign <- function(object, population = NULL, ...) {
  if (!requireNamespace("survey", quietly = TRUE)) {
    stop('as_svydesign needs the package survey: install.packages("survey")', call. = FALSE)
  }
  made <- scores(object, reports_of(object))
  made$weight <- if (is.null(population)) 1 else population / nrow(made)
  survey::svydesign(ids = ~1, weights = ~weight, data = made, ...)
}

checked_one_each <- function(object) {
  if (is.null(object$counts) || !identical(object$supported, c(1, 1))) {
    stop(sprintf("reports of %s must be one category each; RRreg and rr have no other design",
                 dQuote(object$attribute, FALSE)), call. = FALSE)
  }
}

yes_reports <- function(object, yes) {
  checked_one_each(object)
  if (length(object$labels) != 2) {
    stop(sprintf("%s must have two categories, got %d; use as_rrreg for more categories",
                 dQuote(object$attribute, FALSE), length(object$labels)), call. = FALSE)
  }
  position <- match(yes, object$labels)
  if (is.na(position)) {
    stop(sprintf("yes must be one of %s, got yes=%s", paste(object$labels, collapse = ", "), yes), call. = FALSE)
  }
  as.integer(reports_of(object) == position - 1)
}

as_rrreg <- function(object, yes = object$labels[1]) {
  checked_one_each(object)
  if (length(object$labels) == 2) {
    return(list(response = yes_reports(object, yes), model = "Warner", p = object$p, MLest = FALSE))
  }
  list(response = reports_of(object), model = "FR", p = rep(object$q, length(object$labels)), MLest = FALSE)
}

as_rr <- function(object, yes = object$labels[1]) {
  reports <- data.frame(response = yes_reports(object, yes))
  # With its default, rr stops up to 2e-5 before the maximum of the likelihood.
  list(formula = stats::as.formula("response ~ 1"), data = reports, p = object$p, design = "mirrored",
       em.converge = 1e-12)
}
