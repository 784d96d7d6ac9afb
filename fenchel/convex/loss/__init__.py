"""Losses with their conjugates: of residuals, of margins, of several classes."""
