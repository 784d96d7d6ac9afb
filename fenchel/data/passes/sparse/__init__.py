"""Compiled passes over compressed sparse rows."""
