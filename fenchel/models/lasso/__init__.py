"""The lasso and the elastic net: one penalty, a path, the path of each fold."""
