"""Stage 3: labelled rows to a LoRA adapter that writes frames."""
