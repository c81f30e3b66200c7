"""Experiments, benchmarks, rivals and example services: what Topwater is measured with."""
