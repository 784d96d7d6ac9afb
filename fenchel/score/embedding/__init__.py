"""Judgement of maps: whether neighbours stay neighbours, and distances distances."""
