"""Replies as bytes: however the network cuts them, they say the same."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kickwheel.throughput.http_reply import BadReply, HttpReply
from kickwheel.throughput.reply_stream import read_reply

EVENTS = [
    {"choices": [{"delta": {"role": "assistant", "content": ""}}]},
    {"choices": [{"delta": {"content": '{"意图": '}}]},
    {"choices": [{"delta": {"content": '"同步"}'}, "finish_reason": None}]},
    {"choices": [{"delta": {}, "finish_reason": "stop"}]},
    {"choices": [], "usage": {"prompt_tokens": 21, "completion_tokens": 9}},
]


def chunked(*datas: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(data), data) for data in datas)


STREAM = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    + chunked(*(b"data: " + json.dumps(event, ensure_ascii=False).encode() + b"\n\n" for event in EVENTS))
    + chunked(b"data: [DONE]\n\n")
    + b"0\r\n\r\n"
)


@given(st.lists(st.integers(1, len(STREAM) - 1), max_size=30, unique=True))
def test_a_stream_cut_anywhere_reads_the_same(cuts: list[int]) -> None:
    reply = HttpReply()
    edges = [0, *sorted(cuts), len(STREAM)]
    for now, (start, end) in enumerate(pairwise(edges)):
        assert not reply.done
        reply.feed(STREAM[start:end], float(now))
    assert reply.done
    assert reply.keep_alive
    read = read_reply(reply.pieces)
    assert (read.text, read.finish_reason, read.error) == ('{"意图": "同步"}', "stop", None)
    assert (read.prompt_tokens, read.completion_tokens) == (21, 9)
    assert len(read.token_times) == 2
    assert read.token_times == sorted(read.token_times)


def test_a_body_of_known_length_ends_with_its_last_byte() -> None:
    reply = HttpReply()
    reply.feed(b"HTTP/1.1 404 Not Found\r\ncontent-length: 4\r\nConnection: close\r\n\r\nab", 1.0)
    assert not reply.done
    reply.feed(b"cd", 2.0)
    assert (reply.done, reply.status, reply.keep_alive) == (True, 404, False)


def test_a_body_without_length_ends_with_the_connection() -> None:
    reply = HttpReply()
    reply.feed(b"HTTP/1.0 200 OK\r\n\r\nab", 1.0)
    assert not reply.done
    reply.closed()
    assert reply.done


def test_a_reply_without_body_is_whole_with_its_head() -> None:
    reply = HttpReply()
    reply.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 1.0)
    assert reply.done


@pytest.mark.parametrize(
    "data",
    [b"SSH-2.0-OpenSSH\r\n\r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b"x" * 70_000],
)
def test_bytes_that_are_no_http_are_refused(data: bytes) -> None:
    with pytest.raises(BadReply):
        HttpReply().feed(data, 0.0)


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b'data: {"choices": []}\n\n', "incomplete"),
        (b'data: {"error": {"message": "out of memory"}}\n\ndata: [DONE]\n\n', "stream_error"),
        (b"data: {no json\n\n", "stream_error"),
        (b'{"choices": []}', "stream_error"),
        (b"", "incomplete"),
    ],
)
def test_a_stream_that_says_an_error_or_stops_has_its_kind(body: bytes, error: str) -> None:
    assert read_reply([(0.0, body)]).error == error


def test_a_server_that_does_not_stream_is_read_all_the_same() -> None:
    body = {"choices": [{"message": {"content": "好"}, "finish_reason": "stop"}], "usage": {"completion_tokens": 1}}
    read = read_reply([(1.0, json.dumps(body).encode())])
    assert (read.text, read.completion_tokens, read.token_times, read.error) == ("好", 1, [1.0], None)
