"""Groups, classes, maps and kernels: what rests on distances and kernels between rows."""
