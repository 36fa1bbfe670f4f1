"""Metrics of how well anomalies are found, and the paper's experiments."""

from paribus.evaluation.metrics import average_precision, precision_at_n, roc_auc

__all__ = ["average_precision", "precision_at_n", "roc_auc"]
