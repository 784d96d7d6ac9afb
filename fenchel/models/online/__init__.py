"""Classifiers that learn row by row: the perceptron and Adaline."""
