"""Detection methods: a common interface, a registry, and one folder per method."""
