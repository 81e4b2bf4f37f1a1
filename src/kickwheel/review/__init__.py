"""Review: rows that wait for people, what they answer, and where that is kept."""
