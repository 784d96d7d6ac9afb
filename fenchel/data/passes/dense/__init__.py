"""Compiled passes over dense rows."""
