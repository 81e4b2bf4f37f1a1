"""Prefect tasks: thin wrappers around the domain, one file a stage."""
