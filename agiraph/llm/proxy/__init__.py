"""The door's wire formats, seen from the side of the service. Pure.

An outside agent speaks to the broker as it would to Anthropic, OpenAI or Google. `grants` says what
a worker's agent may call; `wire` is what every format can do; `anthropic`, `chat`, `responses` and
`google` are the four of them: requests become the canonical request, answers and errors become the
format's own words. Where service and agent speak the same format the agent's own body is handed on
(`agiraph.llm.providers.forwarding`), and these only tell what it costs.
"""
