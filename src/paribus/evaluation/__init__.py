"""How well anomalies are found."""

from paribus.evaluation.metrics import average_precision, precision_at_n, roc_auc

__all__ = ["average_precision", "precision_at_n", "roc_auc"]
