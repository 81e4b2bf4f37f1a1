"""Stage 4, throughput: what the served adapter holds under load, beside its base."""
