"""The wire formats of model services, read and written from both sides.

`format` defines their common operations, as a client of a service and as the server that the LLM
proxy is for external agents. `anthropic`, `chat` (OpenAI's Chat Completions), `responses` (OpenAI's
Responses) and `google` contain a format's answers and errors, `..._requests` its requests.
"""
