"""Stage 2: a small labelled seed, grown by acquisition, a teacher, checks and review (white paper F10)."""
