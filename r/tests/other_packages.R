# Compares estimates with those of survey, RRreg and rr for the same reports. If a package is not installed, its formula
# is used instead.
library(deniable)

vectors <- jsonlite::fromJSON("vectors.json", simplifyVector = FALSE)
file <- tempfile(fileext = ".json")
estimate <- function(place) {
  writeLines(jsonlite::toJSON(vectors$cases[[place]]$counts, auto_unbox = TRUE, digits = NA, null = "null"), file,
             useBytes = TRUE)
  read_counts(file)[[1]]
}
close_to <- function(found, expected) stopifnot(max(abs(unname(found) - unname(expected))) < 1e-6)

for (place in 1:4) {
  one <- estimate(place)
  f <- coef(one)[1]
  # Other packages divide by n - 1. They use the variance of the reports even if f is outside [0, 1].
  rate <- one$counts[1] / one$n
  error <- sqrt(rate * (1 - rate) / (one$n - 1)) / (one$p - one$q)
  if (f > 0 && f < 1) close_to(error, standard_errors(one, "population")[1] * sqrt(one$n / (one$n - 1)))

  given <- as_rrreg(one)
  stopifnot(given$model == "Warner", sum(given$response) == one$counts[1], length(given$response) == one$n)
  if (requireNamespace("RRreg", quietly = TRUE)) {
    found <- do.call(RRreg::RRuni, given)
    close_to(c(found$pi, found$piSE), c(f, error))
  }
  given <- as_rr(one)
  stopifnot(given$design == "mirrored", given$p == one$p)
  if (f > 0 && f < 1 && requireNamespace("rr", quietly = TRUE)) {
    found <- do.call(rr::rrreg, given)
    close_to(stats::plogis(found$est), f)
    close_to(found$se * f * (1 - f), standard_errors(one, "population")[1])
  }
  if (requireNamespace("survey", quietly = TRUE)) {
    found <- survey::svymean(~yes, as_svydesign(one))
    close_to(c(stats::coef(found), survey::SE(found)), c(f, error))
    found <- survey::svytotal(~yes, as_svydesign(one, population = 1e4))
    close_to(stats::coef(found) / 1e4, f)
  }
}

many <- estimate(6)
given <- as_rrreg(many)
stopifnot(given$model == "FR", isTRUE(all.equal(given$p, rep(many$q, 8))))
if (requireNamespace("RRreg", quietly = TRUE)) {
  found <- do.call(RRreg::RRuni, given)
  close_to(found$pi, coef(many))
}

# The mean of the scores of single reports is the estimate. Other values than categories are refused.
one <- estimate(1)
reports <- rep(one$labels, one$counts)
close_to(colMeans(scores(one, reports)), coef(one))
close_to(colMeans(scores(one, match(reports, one$labels) - 1)), coef(one))
refusal <- tryCatch(scores(one, c("yes", "perhaps")), error = conditionMessage)
stopifnot(grepl("row 2", refusal), !grepl("perhaps", refusal))
unary <- estimate(7)
stopifnot(grepl("one category each", tryCatch(as_rrreg(unary), error = conditionMessage)))
