"""The process `tools/web`: searches and reads the web for all entities, started when asked.

`web` takes calls from the bus, `aside` is the process beside it that reads what strangers wrote.
It holds the keys of search services and no other, and parks when nobody has asked for a while.
"""
