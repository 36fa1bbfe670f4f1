"""Shared by all other packages: validation, threads, progress, files, text and small statistics."""
