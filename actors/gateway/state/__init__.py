"""What the gateway knows and keeps: its database, agents, boards, messages, dead letters,
activities, counters."""
