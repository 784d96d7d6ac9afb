# Reference values of R's pROC: areas, DeLong variances and tests, partial areas, coordinates.
#
#   Rscript proc_reference.R > proc_reference.json
#
# Scores are multiples of 1/4096 (a power of two), so that the JSON holds them exactly; the seed and
# the kinds of random numbers are fixed, so that the file is the same on every run.
# Debian: apt-get install r-base-core r-cran-proc

suppressPackageStartupMessages(library(pROC))
options(pROCProgress = list(name = "none"))
RNGkind("Mersenne-Twister", "Inversion", "Rejection")

grid <- function(x, step) round(x / step) * step

dataset <- function(seed, n_negative, n_positive, shift, spread, step, quality) {
  set.seed(seed)
  y <- c(rep(0, n_negative), rep(1, n_positive))
  hidden <- rnorm(length(y), mean = shift * y, sd = 1 + (spread - 1) * y)
  other <- quality * hidden + sqrt(1 - quality^2) * rnorm(length(y), mean = 0.4 * y)
  order <- sample(length(y))
  list(y = y[order], a = grid(hidden, step)[order], b = grid(other, step)[order])
}

sets <- list(
  plain      = dataset(1, 72, 41, 1.0, 1.0, 1 / 4096, 0.6),
  ties       = dataset(2, 72, 41, 1.0, 1.3, 1 / 2, 0.6),
  few_values = dataset(3, 60, 60, 1.2, 1.0, 1, 0.7),
  imbalanced = dataset(4, 300, 12, 1.5, 1.0, 1 / 4096, 0.5),
  mostly_one = dataset(5, 15, 200, 0.8, 0.7, 1 / 8, 0.5),
  near_one   = dataset(6, 80, 70, 3.4, 1.0, 1 / 4096, 0.8),
  chance     = dataset(7, 50, 50, 0.0, 1.0, 1 / 4096, 0.3),
  reversed   = dataset(8, 50, 40, -0.8, 1.2, 1 / 16, 0.6)
)

# name, limits as pROC takes them, focus
regions <- list(
  fpr_0_0.1   = list(limits = c(1, 0.9), focus = "specificity"),
  fpr_0_0.2   = list(limits = c(1, 0.8), focus = "specificity"),
  fpr_0.1_0.3 = list(limits = c(0.9, 0.7), focus = "specificity"),
  tpr_0.9_1   = list(limits = c(1, 0.9), focus = "sensitivity"),
  tpr_0.8_1   = list(limits = c(1, 0.8), focus = "sensitivity"),
  tpr_0.5_0.8 = list(limits = c(0.8, 0.5), focus = "sensitivity")
)

number <- function(x) {
  text <- sprintf("%.17g", as.numeric(x))
  text[is.na(x)] <- "null"
  text[is.infinite(x)] <- ifelse(x[is.infinite(x)] > 0, '"inf"', '"-inf"')
  text
}
list_of <- function(x) paste0("[", paste(number(x), collapse = ", "), "]")
object <- function(fields) {
  paste0("{", paste0('"', names(fields), '": ', unlist(fields), collapse = ",\n"), "}")
}

curve_of <- function(y, s) roc(y, s, levels = c(0, 1), direction = "<", quiet = TRUE)

partial <- function(r, region) {
  area <- function(correct) {
    suppressWarnings(as.numeric(auc(r, partial.auc = region$limits, partial.auc.focus = region$focus,
                                    partial.auc.correct = correct)))
  }
  set.seed(1)
  bootstrap <- suppressWarnings(ci.auc(r, reuse.auc = FALSE, partial.auc = region$limits,
                                       partial.auc.focus = region$focus, method = "bootstrap",
                                       boot.n = 4000, boot.stratified = TRUE))
  object(list(area = number(area(FALSE)), standardised = number(area(TRUE)),
              bootstrap = list_of(c(bootstrap[1], bootstrap[3]))))
}

one_score <- function(y, s) {
  r <- curve_of(y, s)
  points <- coords(r, "all", ret = c("threshold", "specificity", "sensitivity"), transpose = FALSE)
  object(list(
    auc = number(auc(r)),
    variance = number(var(r, method = "delong")),
    interval = list_of(as.numeric(ci.auc(r, method = "delong", conf.level = 0.95))[c(1, 3)]),
    specificity = list_of(points$specificity),
    sensitivity = list_of(points$sensitivity),
    partial = object(lapply(regions, function(region) partial(r, region)))
  ))
}

partial_test <- function(a, b, region) {
  set.seed(1)
  test <- suppressWarnings(roc.test(a, b, reuse.auc = FALSE, partial.auc = region$limits,
                                    partial.auc.focus = region$focus, method = "bootstrap",
                                    paired = TRUE, boot.n = 4000, boot.stratified = TRUE))
  number(test$statistic)
}

one_set <- function(d) {
  a <- curve_of(d$y, d$a)
  b <- curve_of(d$y, d$b)
  test <- roc.test(a, b, method = "delong", paired = TRUE)
  object(list(
    y = list_of(d$y), a = list_of(d$a), b = list_of(d$b),
    score_a = one_score(d$y, d$a), score_b = one_score(d$y, d$b),
    paired = object(list(
      z = number(test$statistic), p = number(test$p.value),
      covariance = number(cov(a, b, method = "delong")),
      bootstrap_z = object(lapply(regions, function(region) partial_test(a, b, region)))
    ))
  ))
}

cat(object(list(
  made_by = paste0('"', R.version.string, ", pROC ", packageVersion("pROC"), '"'),
  sets = object(lapply(sets, one_set))
)), "\n", sep = "")
