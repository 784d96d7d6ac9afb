"""Time to a certified relative gap: ours and every installed peer, in one run."""
