"""Fuzz campaigns: inputs that nobody would write, and what must be true of the answers."""
