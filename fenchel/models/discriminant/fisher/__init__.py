"""Fisher's discriminant, linear and with a kernel."""
