"""The routes for feedback and nothing else, as a process of its own: what :mod:`benchmarks.feedback` loads and kills."""

from __future__ import annotations

import argparse
import os

import uvicorn
from fastapi import FastAPI

from kickwheel.feedback.store_adapter import SqlEventStore
from kickwheel.feedback.writer_adapter import GroupCommitWriter
from kickwheel.serving.feedback_api import feedback_router


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--core", type=int, default=-1, help="run on this core alone; -1: on any")
    options = parser.parse_args()
    if options.core >= 0:
        os.sched_setaffinity(0, {options.core})
    store = SqlEventStore(options.url)
    app = FastAPI()
    with GroupCommitWriter(store) as writer:
        app.include_router(feedback_router(writer))
        uvicorn.run(app, host="127.0.0.1", port=options.port, log_level="warning", access_log=False)
    store.close()


if __name__ == "__main__":
    main()
