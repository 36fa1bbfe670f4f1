"""Advice on which columns are context: what kind each column is, and how well it predicts the others."""
