"""Explanations: frozen facts about a row, and sentences made of them."""
