"""The parts of a query → a plan that the hosts carry out."""
