"""One entity: its conversation, its prompts, and the loop that all entities share.

records      the records of a conversation's journal
transcript   the fold of those records: the turns shown to the model, the open calls
conversation journal and transcript together: the only place where state changes
inbox        messages that wait for the next yield point
loop         yield point -> think -> act -> yield point
node_limits  the limits of a worker on its node, and its last turn
context_window how full a model's window is, and when to shorten the conversation
compaction   the shorter conversation that replaces a long one (digest, listing)
prompts      system prompts and notices from configs/prompts
"""
