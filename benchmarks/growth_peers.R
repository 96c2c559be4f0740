# Does one task on one table and prints the seconds (user + system) that it took; called by
# growth_peers.py.
#
#   Rscript growth_peers.R TASK REPEATS FILE ROWS COLUMNS
#
# FILE contains the numbers of the table in double precision, row by row. The task is first done
# on a corner of the table, so that R's compilation is excluded.

options(mc.cores = 1, warn = -1)
suppressMessages({
  library(psych)
  library(GPArotation)
})

tasks <- list(
  # The first row is the key.
  item_statistics = function(x, repeats) score.multiple.choice(x[1, ], x[-1, ], short = FALSE),
  # Answers are resampled within columns.
  parallel_analysis = function(x, repeats) {
    fa.parallel(x, fa = "pc", n.iter = repeats, sim = FALSE, cor = "tet", plot = FALSE)
  },
  # Resamples are drawn here, because omega(n.iter = ) would resample the previous resample.
  omega = function(x, repeats) {
    omega(x, nfactors = 3, plot = FALSE)
    for (i in seq_len(repeats)) {
      omega(x[sample(nrow(x), replace = TRUE), ], nfactors = 3, plot = FALSE)
    }
  }
)

spent <- function(task, x, repeats) {
  set.seed(1)
  time <- system.time(utils::capture.output(suppressMessages(task(x, repeats))))
  sum(time[c("user.self", "sys.self")])
}

given <- commandArgs(trailingOnly = TRUE)
task <- tasks[[given[1]]]
repeats <- as.integer(given[2])
rows <- as.integer(given[4])
columns <- as.integer(given[5])
table <- matrix(readBin(given[3], "double", rows * columns), rows, columns, byrow = TRUE)
colnames(table) <- paste0("v", seq_len(columns))
spent(task, table[seq_len(min(rows, 120)), seq_len(min(columns, 9))], 2)
cat(spent(task, table, repeats), "\n")
