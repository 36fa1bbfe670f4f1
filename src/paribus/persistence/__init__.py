"""Fitted detectors in files."""
