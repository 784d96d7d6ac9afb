"""Hinge losses over the tree of pairs."""
