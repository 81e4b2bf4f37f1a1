"""The understanding API: which version answers whom, and the service that asks it."""
