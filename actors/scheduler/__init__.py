"""The clock's process: the only writer of every agent's `triggers.json`.

time_source  what time it is, and waiting for a time or a bell
shelf        the agents' books of triggers, on disk, and the event logs beside them
desk         requests: make, list, pause, resume, cancel, fire
delivery     a firing on its way: to its agent's coordinator, or as a callback
callbacks    one configured command, bounded, known to have ended
clock        the loop that puts them together
"""
