"""The Hessian of a problem, dense or as a Kronecker product."""
