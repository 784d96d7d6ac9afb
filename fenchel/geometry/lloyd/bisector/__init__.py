"""The nearer of two centres by the side of the plane between them."""
