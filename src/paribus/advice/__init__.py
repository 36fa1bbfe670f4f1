"""Advice on which columns are context: what each column looks like, and how much it says about the others."""
