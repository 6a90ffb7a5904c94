# Tests of files, tables, plots and errors.
library(deniable)

place <- system.file("extdata", package = "deniable")
survey <- read_collection(file.path(place, "survey.json"))
stopifnot(survey$epsilon == 1, identical(survey$attributes$smoker, c("yes", "no")))
estimates <- read_counts(file.path(place, "counts.json"), survey)
smoker <- estimates$smoker

# By hand: 240 of 600 reports say yes, p = e/(e + 1).
p <- exp(1) / (exp(1) + 1)
f <- (240 / 600 - (1 - p)) / (2 * p - 1)
stopifnot(abs(coef(smoker)[["yes"]] - f) < 1e-12)
stopifnot(abs(standard_errors(smoker)[["yes"]] - sqrt(p * (1 - p) / 600) / (2 * p - 1)) < 1e-12)
stopifnot(abs(sum(vcov(smoker))) < 1e-15)

table <- as.data.frame(estimates)
numbers <- read_numbers(file.path(place, "numbers.csv"))
results <- read_results(file.path(place, "results.json"))
for (column in c("estimate", "standard_error", "lower", "upper")) {
  stopifnot(max(abs(table[[column]] - numbers[[column]][1:2])) < 1e-10)
  stopifnot(max(abs(table[[column]] - results[[column]])) < 1e-10)
}

gap <- linear(smoker, c(yes = 1, no = -1))
stopifnot(abs(gap[["estimate"]] - (2 * f - 1)) < 1e-12)
stopifnot(abs(gap[["standard_error"]] - 2 * standard_errors(smoker)[["yes"]]) < 1e-12)
refusal <- tryCatch(linear(smoker, c(maybe = 1)), error = conditionMessage)
stopifnot(grepl("weights must be named by categories", refusal))

grDevices::pdf(NULL)
drawn <- plot(smoker)
invisible(grDevices::dev.off())
stopifnot(identical(drawn$category, c("no", "yes")))
stopifnot(any(grepl("epsilon 1", capture.output(print(estimates)))))
stopifnot(any(grepl("smoker: yes, no", capture.output(print(survey)))))

survey$id <- "another"
refusal <- tryCatch(read_counts(file.path(place, "counts.json"), survey), error = conditionMessage)
stopifnot(grepl("counts must be of the collection another", refusal))
refusal <- tryCatch(read_counts(file.path(place, "survey.json")), error = conditionMessage)
stopifnot(grepl("file must be a deniable counts of version 1", refusal, fixed = TRUE))
