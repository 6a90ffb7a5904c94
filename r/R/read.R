# Readers of the files that the Python package writes.

document <- function(file, format, versions) {
  found <- jsonlite::fromJSON(file, simplifyVector = FALSE)
  if (!identical(found$format, format) || !(found$format_version %||% found$version) %in% versions) {
    stop(sprintf("file must be a %s of version %s, got %s of version %s in %s", format,
                 paste(versions, collapse = " or "), found$format %||% "no format",
                 found$format_version %||% found$version %||% "none", file), call. = FALSE)
  }
  found
}

`%||%` <- function(value, other) if (is.null(value)) other else value

# A number that does not exist is null in JSON.
numbers <- function(values) vapply(values, function(one) if (is.null(one)) NA_real_ else as.numeric(one), 0)

texts <- function(values) vapply(values, as.character, "")

read_collection <- function(file) {
  found <- document(file, "deniable collection", 1:2)
  labels <- function(attribute) {
    texts(c(attribute$categories, attribute$missing, attribute$other))
  }
  structure(
    list(
      id = found$id, title = found$title, version = found$version, mechanism = found$mechanism,
      epsilon = as.numeric(found$guarantee$epsilon), guarantee = texts(found$guarantee$text),
      attributes = stats::setNames(lapply(found$schema$attributes, labels),
                                   texts(lapply(found$schema$attributes, `[[`, "name")))
    ),
    class = "deniable_collection"
  )
}

print.deniable_collection <- function(x, ...) {
  cat(x$guarantee, sep = "\n")
  if (nzchar(x$title)) cat("title:", dQuote(x$title, FALSE), "\n")
  for (name in names(x$attributes)) cat(sprintf("  %s: %s\n", name, paste(x$attributes[[name]], collapse = ", ")))
  cat(sprintf("mechanism %s, round %d, collection %s\n", x$mechanism$mechanism, x$version, substr(x$id, 1, 12)))
  invisible(x)
}

read_counts <- function(file, collection = NULL) {
  found <- document(file, "deniable counts", 1)
  if (!is.null(collection) && !identical(collection$id, found$collection)) {
    stop(sprintf("counts must be of the collection %s, got counts of %s; export them again with deniable estimate --counts",
                 substr(collection$id, 1, 12), substr(found$collection, 1, 12)), call. = FALSE)
  }
  made <- lapply(found$attributes, estimate_of)
  names(made) <- vapply(made, `[[`, "", "attribute")
  structure(made, class = "deniable_estimates", collection = found$collection, title = found$title,
            mechanism = found$mechanism, epsilon = as.numeric(found$epsilon), contributors = found$contributors)
}

read_numbers <- function(file) {
  # A category may have the name NA, so only an empty cell is missing.
  read.csv(file, na.strings = "", fileEncoding = "UTF-8", check.names = FALSE)
}

read_results <- function(file) {
  found <- jsonlite::fromJSON(file, simplifyVector = FALSE)
  if (identical(found$format, "deniable results")) found <- found$estimate
  if (!identical(found$format, "deniable estimate")) {
    stop(sprintf("file must be the JSON of deniable estimate or of a collector's results, got %s in %s",
                 found$format %||% "no format", file), call. = FALSE)
  }
  rows <- lapply(found$attributes, function(attribute) {
    column <- function(name) numbers(lapply(attribute$categories, `[[`, name))
    data.frame(
      attribute = attribute$attribute, category = texts(lapply(attribute$categories, `[[`, "category")),
      estimate = column("estimate"), standard_error = column("standard_error"), lower = column("lower"),
      upper = column("upper"), stringsAsFactors = FALSE
    )
  })
  do.call(rbind, rows)
}
