"""A chat client whose calls can be looked at in MLflow: a trace a call, linked to the stage's run.

Not ``mlflow.openai.autolog``: with a client that it does not know the version of it records nothing and says nothing, and it
would trace the student's load as well. Written in the background; :meth:`TracedClient.flush` waits for what is left.
"""

from __future__ import annotations

import mlflow
from mlflow.entities import SpanType
from mlflow.tracing.constant import SpanAttributeKey, TraceMetadataKey

from kickwheel.errors import KickwheelError
from kickwheel.inference.ports import ChatClient, ChatReply, ChatRequest
from kickwheel.inference.student_prompt import as_openai
from kickwheel.tracking.runs_adapter import RunRecorder


class TracedClient:
    """A ChatClient in front of another. Safe to call from many threads.

    Args:
        name: of the traces, e.g. ``teacher``.
        recorder: the run that the traces belong to, and its experiment.
    """

    def __init__(self, client: ChatClient, name: str, recorder: RunRecorder) -> None:
        self._client, self._name, self._run_id = client, name, recorder.run_id
        self._experiment_id = str(recorder.client.get_run(recorder.run_id).info.experiment_id)

    @property
    def model(self) -> str:
        """Served model name."""
        return self._client.model

    def complete(self, request: ChatRequest) -> ChatReply:
        """Ask once, under a trace. Raises what the client raises; the trace then ends in error and holds what it said."""
        span = mlflow.start_span_no_context(
            self._name,
            span_type=SpanType.CHAT_MODEL,
            inputs={"messages": as_openai(request.messages)},
            metadata={TraceMetadataKey.SOURCE_RUN: self._run_id},
            experiment_id=self._experiment_id,
        )
        span.set_attributes({"temperature": request.temperature, "seed": request.seed, "max_tokens": request.max_tokens})
        try:
            reply = self._client.complete(request)
        except KickwheelError as error:
            span.set_attribute("error", f"{type(error).__name__}: {error}")
            span.end(status="ERROR")
            raise
        span.set_attribute(SpanAttributeKey.MODEL, reply.model)
        usage = {"input_tokens": reply.prompt_tokens, "output_tokens": reply.completion_tokens}
        span.set_attribute(SpanAttributeKey.CHAT_USAGE, {**usage, "total_tokens": sum(usage.values())})
        span.end(outputs={"content": reply.text, "finish_reason": reply.finish_reason})
        return reply

    def flush(self) -> None:
        """Wait until the traces are written."""
        mlflow.flush_trace_async_logging()
