"""Double-double sums, tiled products and pivoted factors of matrices."""
