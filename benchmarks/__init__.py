"""Speed and quality benchmarks: each runnable by itself, each printing one JSON object."""
