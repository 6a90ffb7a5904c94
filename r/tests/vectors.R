# Compares the numbers of this package with the numbers that the Python package wrote for the same counts.
library(deniable)

vectors <- jsonlite::fromJSON("vectors.json", simplifyVector = FALSE)
largest <- 0
near <- function(found, expected, what) {
  expected <- as.numeric(unlist(expected))
  difference <- max(abs(as.numeric(found) - expected) / pmax(1, abs(expected)))
  if (!(difference < 1e-10)) stop(sprintf("%s: differs by %g", what, difference))
  largest <<- max(largest, difference)
}

near(nearest_distribution(as.numeric(vectors$nearest$given)), vectors$nearest$found, "nearest distribution")
compared <- 0
for (place in seq_along(vectors$cases)) {
  case <- vectors$cases[[place]]
  file <- tempfile(fileext = ".json")
  writeLines(jsonlite::toJSON(case$counts, auto_unbox = TRUE, digits = NA, null = "null"), file, useBytes = TRUE)
  estimates <- read_counts(file)
  for (j in seq_along(case$expected)) {
    one <- estimates[[j]]
    expected <- case$expected[[j]]
    about <- paste("case", place, one$attribute)
    near(coef(one), expected$frequencies, paste(about, "frequencies"))
    for (target in c("contributors", "population")) {
      numbers <- expected[[target]]
      near(standard_errors(one, target), numbers$standard_errors, paste(about, target, "standard errors"))
      if (is.null(one$counts)) next
      near(t(confint(one, target = target)), numbers$intervals[[1]], paste(about, target, "intervals"))
      near(t(confint(one, level = 0.9, target = target, simultaneous = TRUE)), numbers$intervals[[2]],
           paste(about, target, "simultaneous intervals"))
      if (is.null(numbers$covariance)) {
        stopifnot(inherits(try(vcov(one), silent = TRUE), "try-error"))
      } else {
        near(vcov(one, target = target), numbers$covariance, paste(about, target, "covariance"))
      }
      compared <- compared + 1
    }
  }
}
stopifnot(compared == 36)
cat(sprintf("%d cases, largest difference %.2g\n", compared, largest))
