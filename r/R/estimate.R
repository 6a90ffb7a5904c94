# Estimates of one attribute: frequencies, standard errors, covariances and weighted sums.

# A count is not treated as normal if fewer mistakes than FEW are expected. Another sum is not treated as normal if its
# standard error is less than STEPS times the effect of one report.
FEW <- 25
STEPS <- 5

estimate_of <- function(column) {
  made <- list(
    attribute = column$attribute, title = column$title, labels = texts(column$labels), n = column$n,
    contributors = column$contributors,
    scores = if (is.null(column$scores)) NULL else numbers(column$scores)
  )
  if (is.null(column$counts)) {
    made$frequencies <- numbers(column$frequencies)
    made$noise_absent <- numbers(column$noise_absent)
    made$noise_present <- numbers(column$noise_present)
  } else {
    p <- column$p
    q <- column$q
    made$counts <- numbers(column$counts)
    made$p <- p
    made$q <- q
    made$supported <- numbers(column$supported)
    made$pairs <- pair_covariances(column, length(made$labels))
    made$frequencies <- if (made$n > 0) (made$counts / made$n - q) / (p - q) else rep(NA_real_, length(made$labels))
    made$noise_absent <- rep(q * (1 - q) / (p - q)^2, length(made$labels))
    made$noise_present <- rep(p * (1 - p) / (p - q)^2, length(made$labels))
  }
  names(made$frequencies) <- made$labels
  structure(made, class = "deniable_estimate")
}

# Covariances of one report's supports of two values: `own` if its contributor has one of them, `other` if neither. If
# every report supports the same number of values, they follow from p, q and this number. Otherwise the file has them.
pair_covariances <- function(column, k) {
  p <- column$p
  q <- column$q
  size <- numbers(column$supported)
  if (is.null(column$pairs)) return(NULL)
  if (size[1] != size[2]) return(list(own = column$pairs$own, other = column$pairs$other))
  s <- size[1]
  both <- if (k == 2) 0 else (p * (s - 1) * (s - 2) + (1 - p) * s * (s - 1)) / ((k - 1) * (k - 2))
  made <- list(own = p * (s - 1) / (k - 1) - p * q, other = if (k == 2) 0 else both - q^2)
  if (abs(made$own - column$pairs$own) > 1e-9 || abs(made$other - column$pairs$other) > 1e-9) {
    stop(sprintf("pairs must be the covariances of reports of %d of %d values, got others for %s; export them again",
                 s, k, dQuote(column$attribute, FALSE)), call. = FALSE)
  }
  made
}

coef.deniable_estimate <- function(object, ...) object$frequencies

# Factor of the sampling variance f (1 - f). Contributors are sampled from the population, reporters from contributors.
sampling <- function(object, target) {
  drawn <- 1 / object$n
  if (target == "population") drawn else max(0, drawn - 1 / object$contributors)
}

checked_target <- function(target) match.arg(target, c("contributors", "population"))

standard_errors <- function(object, target = c("contributors", "population")) {
  target <- checked_target(target)
  if (object$n == 0) return(stats::setNames(rep(Inf, length(object$labels)), object$labels))
  f <- pmin(pmax(object$frequencies, 0), 1)
  noise <- object$noise_absent + (object$noise_present - object$noise_absent) * f
  sqrt(noise / object$n + f * (1 - f) * sampling(object, target))
}

nearest_distribution <- function(frequencies) {
  descending <- sort(frequencies, decreasing = TRUE)
  deltas <- (1 - cumsum(descending)) / seq_along(descending)
  last <- max(which(descending + deltas > 0))
  pmax(frequencies + deltas[last], 0)
}

vcov.deniable_estimate <- function(object, target = c("contributors", "population"), ...) {
  target <- checked_target(target)
  k <- length(object$labels)
  if (is.null(object$pairs) || object$n == 0) {
    stop(sprintf("covariances of %s are not known: %s", dQuote(object$attribute, FALSE),
                 if (object$n == 0) "nobody reported it" else
                   "its counts do not say how the errors of two categories are correlated"), call. = FALSE)
  }
  p <- object$p
  q <- object$q
  f <- unname(nearest_distribution(object$frequencies))
  pairs <- outer(f, f, `+`)
  noise <- object$pairs$own * pairs + object$pairs$other * (1 - pairs)
  diag(noise) <- f * p * (1 - p) + (1 - f) * q * (1 - q)
  drawn <- (diag(f, k) - outer(f, f)) * sampling(object, target)
  matrix(noise / (p - q)^2 / object$n + drawn, k, k, dimnames = list(object$labels, object$labels))
}

linear <- function(object, weights, target = c("contributors", "population"), level = 0.95) {
  target <- checked_target(target)
  if (!is.null(names(weights))) {
    unknown <- setdiff(names(weights), object$labels)
    if (length(unknown)) {
      stop(sprintf("weights must be named by categories of %s, got %s; the categories are %s",
                   dQuote(object$attribute, FALSE), unknown[1], paste(object$labels, collapse = ", ")), call. = FALSE)
    }
    weights <- unname(weights[match(object$labels, names(weights))])
    weights[is.na(weights)] <- 0
  }
  if (length(weights) != length(object$labels) || !all(is.finite(weights))) {
    stop(sprintf("weights must be %d finite numbers, or named by categories, got %d", length(object$labels),
                 length(weights)), call. = FALSE)
  }
  value <- sum(weights * object$frequencies)
  error <- sqrt(max(sum(weights * (vcov(object, target = target) %*% weights)), 0))
  # One mistaken report replaces one value by another, or adds or removes one value.
  step <- if (object$supported[1] == object$supported[2]) diff(range(weights)) else max(abs(weights))
  step <- step / (object$p - object$q) / object$n
  half <- if (error >= STEPS * step) stats::qnorm((1 + level) / 2) * error else NA_real_
  if (is.na(half)) {
    message("no interval: too few reports matter for this sum to be treated as normal; use that of deniable estimate")
  }
  c(estimate = value, standard_error = error, lower = value - half, upper = value + half)
}
