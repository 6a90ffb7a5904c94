# Confidence intervals: exact if few reports are mistaken, score intervals otherwise.

confint.deniable_estimate <- function(object, parm, level = 0.95, target = c("contributors", "population"),
                                      simultaneous = 1, ...) {
  target <- checked_target(target)
  if (!(level > 0 && level < 1)) stop(sprintf("level must be between 0 and 1, got level=%s", level), call. = FALSE)
  if (isTRUE(simultaneous)) simultaneous <- length(object$labels)
  if (isFALSE(simultaneous)) simultaneous <- 1
  tail <- (1 - level) / simultaneous / 2
  if (is.null(object$counts)) {
    stop(sprintf("intervals of %s need more than this file has: read those of deniable estimate --csv with read_numbers",
                 dQuote(object$attribute, FALSE)), call. = FALSE)
  }
  bounds <- if (object$n > 0) both_bounds(object, tail, target) else matrix(NA_real_, length(object$labels), 2)
  dimnames(bounds) <- list(object$labels, c("lower", "upper"))
  if (missing(parm)) bounds else bounds[parm, , drop = FALSE]
}

both_bounds <- function(object, tail, target) {
  bounds <- score_bounds(object, tail, target)
  p <- object$p
  q <- object$q
  n <- object$n
  few <- rep(TRUE, length(object$labels))
  exact <- target
  if (target == "contributors" && object$contributors > n) {
    # The number of holders among the reporters is random. It varies less than for reporters from a population, so
    # bounds for a population are valid.
    few <- standard_errors(object, target) < STEPS / (n * abs(p - q))
    exact <- "population"
  }
  if (n * min(q, 1 - p) >= FEW) return(bounds)
  found <- switch(exact, population = of_population(object$counts, n, p, q, tail),
                  contributors = t(vapply(object$counts, of_contributors, c(0, 0), n, p, q, tail)))
  bounds[few, ] <- found[few, ]
  bounds
}

# The range of all f that a z-test with the variance at f does not reject. Its ends are the roots of a quadratic, and
# are not clipped to [0, 1].
score_bounds <- function(object, tail, target) {
  z2 <- stats::qnorm(tail)^2
  f <- unname(object$frequencies)
  drawn <- sampling(object, target)
  slope <- (object$noise_present - object$noise_absent) / object$n + drawn
  a <- 1 + z2 * drawn
  b <- f + z2 * slope / 2
  c <- f^2 - z2 * object$noise_absent / object$n
  root <- b^2 - a * c
  half <- sqrt(pmax(root, 0)) / a
  wald <- sqrt(z2) * unname(standard_errors(object, target))
  cbind(ifelse(root > 0, b / a - half, f - wald), ifelse(root > 0, b / a + half, f + wald))
}

# Clopper and Pearson's interval of the share of reports that support a value, as a frequency.
of_population <- function(counts, n, p, q, tail) {
  lower <- ifelse(counts > 0, stats::qbeta(tail, pmax(counts, 1), n - pmax(counts, 1) + 1), 0)
  inner <- pmin(counts, n - 1)
  upper <- ifelse(counts < n, stats::qbeta(tail, inner + 1, n - inner, lower.tail = FALSE), 1)
  inside <- function(share) pmin(pmax((share - q) / (p - q), 0), 1)
  cbind(inside(lower), inside(upper))
}

# The range of all numbers m of holders among n contributors for which no tail of Binomial(m, p) + Binomial(n - m, q) is
# too small.
of_contributors <- function(count, n, p, q, tail) {
  chance <- function(m, above) {
    mean <- n * min(q, 1 - p)
    mistakes <- 0:ceiling(mean + 10 * sqrt(mean) + 32)
    if (q <= 1 - p) { # the rarer mistake: reports of other contributors that support the value
      needed <- count - mistakes
      weights <- stats::dbinom(mistakes, n - m, q)
      tails <- if (above) stats::pbinom(needed - 1, m, p, lower.tail = FALSE) else stats::pbinom(needed, m, p)
    } else { # the rarer mistake: reports of holders that do not support their value
      needed <- count - m + mistakes
      weights <- stats::dbinom(mistakes, m, 1 - p)
      tails <- if (above) stats::pbinom(needed - 1, n - m, q, lower.tail = FALSE) else stats::pbinom(needed, n - m, q)
    }
    sum(weights * tails)
  }
  least <- first(function(m) chance(m, TRUE) > tail, n)
  most <- first(function(m) chance(min(m + 1, n), FALSE) <= tail, n)
  range(least, most) / n
}

# The least number in 0..n that fulfils a condition, or n if none does. All numbers above it must fulfil it too.
first <- function(holds, n) {
  low <- 0
  high <- n
  while (low < high) {
    middle <- (low + high) %/% 2
    if (holds(middle)) high <- middle else low <- middle + 1
  }
  low
}
