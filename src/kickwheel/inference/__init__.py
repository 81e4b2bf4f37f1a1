"""The one home of the OpenAI-compatible client, the vLLM process, its warm-up and the student's prompt and reply format."""
