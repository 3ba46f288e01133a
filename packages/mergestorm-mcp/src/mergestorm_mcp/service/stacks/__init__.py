"""Stacks of pull requests: what they are made of, their policy, their unit and their place in the merge queue."""
