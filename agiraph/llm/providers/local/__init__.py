"""The local model: a small language model on this machine's processor; no network and no key.

`serving` is the process that holds it (llama.cpp's own server, from the package `xllamacpp`),
`process` starts and stops that process, `schemas` says what an answer must look like (a grammar
allows nothing else), `prompts` renders a request for a model of that size and reads its answer,
`provider` is the Provider of it all. `agiraph.models.local_weights` finds its file.
docs/models.md says what such a model can do, which is little.
"""
