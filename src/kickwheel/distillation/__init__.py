"""Stage 5: behaviour in, signals, a closed set of candidates with targets, a gated adapter out."""
