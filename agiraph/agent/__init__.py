"""One entity: its conversation, its prompts, and the loop that all entities share.

records      what a conversation's journal holds
transcript   the fold of those records: what the model is shown, what is still open
conversation journal and transcript together: the only place where state changes
inbox        messages that wait for the next yield point
loop         yield point -> think -> act -> yield point
node_limits  what a worker may use on its node, and its last turn
context_window how full a model's window is, and what is to be done about it
compaction   the shorter conversation that replaces a long one (digest, listing)
prompts      system prompts and notices from configs/prompts
"""
