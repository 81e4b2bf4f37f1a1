"""Prefect flows: order only. One file a stage, and ``iteration.py``, the whole lap on one page."""
