# This file has tables and plots of estimates.

as.data.frame.deniable_estimate <- function(x, row.names = NULL, optional = FALSE, ..., level = 0.95,
                                            target = c("contributors", "population")) {
  target <- checked_target(target)
  bounds <- if (is.null(x$counts)) matrix(NA_real_, length(x$labels), 2) else
    confint(x, level = level, target = target)
  data.frame(
    attribute = x$attribute, category = x$labels, estimate = unname(x$frequencies),
    standard_error = unname(standard_errors(x, target)), lower = bounds[, 1], upper = bounds[, 2],
    row.names = row.names %||% seq_along(x$labels), stringsAsFactors = FALSE
  )
}

as.data.frame.deniable_estimates <- function(x, row.names = NULL, optional = FALSE, ...) {
  rows <- do.call(rbind, lapply(unclass(x), as.data.frame, ...))
  rownames(rows) <- row.names %||% seq_len(nrow(rows))
  rows
}

print.deniable_estimate <- function(x, ...) {
  cat(sprintf("%s: %s of %s contributors reported it\n", if (nzchar(x$title)) x$title else x$attribute,
              format(x$n, big.mark = ","), format(x$contributors, big.mark = ",")))
  print(as.data.frame(x, ...)[-1], digits = 3, row.names = FALSE)
  invisible(x)
}

print.deniable_estimates <- function(x, ...) {
  cat(sprintf("epsilon %s, mechanism %s; intervals of 95%% cover the frequency among these contributors\n",
              format(attr(x, "epsilon")), attr(x, "mechanism")))
  for (one in unclass(x)) print(one)
  invisible(x)
}

plot.deniable_estimate <- function(x, level = 0.95, target = c("contributors", "population"), ...) {
  table <- as.data.frame(x, level = level, target = checked_target(target))
  table <- table[rev(seq_len(nrow(table))), ]
  places <- seq_len(nrow(table))
  before <- par(mar = c(4, 1 + 0.6 * max(nchar(table$category)), 3, 1))
  on.exit(par(before))
  plot.new()
  plot.window(range(0, table$estimate, table$lower, table$upper, na.rm = TRUE), c(0.5, length(places) + 0.5))
  abline(v = 0, col = "grey")
  segments(table$lower, places, table$upper, places, lwd = 2)
  points(table$estimate, places, pch = 19)
  axis(1)
  axis(2, places, table$category, las = 1, tick = FALSE)
  title(main = if (nzchar(x$title)) x$title else x$attribute,
        xlab = sprintf("share, with intervals of %g%%", 100 * level))
  invisible(table)
}
