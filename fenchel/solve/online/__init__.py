"""Algorithms that look at one row at a time: the perceptron and Adaline."""
