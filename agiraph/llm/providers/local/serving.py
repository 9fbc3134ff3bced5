"""The process of a local model: llama.cpp's server on the loopback.

    python -m agiraph.llm.providers.local.serving FILE CONTEXT THREADS

It writes its URL and key as one JSON line to stdout (or `{"error": TEXT}`), and exits at the end of
stdin, when its parent process closes stdin or dies.
"""

import json
import os
import secrets
import sys
from typing import Any

KEPT_OUTPUT = 1


def main(arguments: list[str]) -> None:
    """Serve the model file in `arguments` (FILE CONTEXT THREADS) until stdin ends."""
    answers = os.fdopen(os.dup(KEPT_OUTPUT), "w")
    os.dup2(2, KEPT_OUTPUT)  # the engine's output must not be mixed in
    try:
        answer = _serve(*arguments)
    except Exception as error:  # reported to the process that started this one
        answer = {"error": f"{type(error).__name__}: {error}"}
    answers.write(json.dumps(answer) + "\n")
    answers.flush()
    if "error" not in answer:
        sys.stdin.buffer.read()
    os._exit(0)  # the engine's threads would delay an ordinary exit


def _serve(file: str, context: str, threads: str) -> dict[str, Any]:
    import xllamacpp

    key = secrets.token_urlsafe(32)
    params = xllamacpp.CommonParams()
    params.model.path = file
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [key]
    params.n_ctx = int(context)
    params.n_parallel = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = int(threads)
    params.warmup = False
    params.verbosity = 0
    params.endpoint_slots = False
    params.ui = False
    params.offline = True
    global _running  # the engine stops when its last reference is gone
    _running = xllamacpp.Server(params)
    return {"url": _running.listening_address, "key": key}


_running: Any = None

if __name__ == "__main__":
    main(sys.argv[1:])
