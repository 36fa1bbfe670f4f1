"""The estimators: scikit-learn's interface around the methods."""
