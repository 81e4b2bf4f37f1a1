"""Feedback on served answers: events on disk, joined with the answers, read as signals, fused into evidence a case."""
