"""The inbox: messages, questions, answers and notifications of the human, on disk.

bus               the calls by which the inbox and the API reach the other processes
database          one SQLite file for messages, questions and dead letters
message_history   messages between the human and the entities
questions         open and closed questions; question_records are their rows
approval_grants   answers "allow always" that answer later questions
answer_delivery   ends questions that cannot be answered any more, and delivers each outcome
dead_letters      messages that were given up
idempotency_store answers of HTTP calls that may be repeated
event_reporter    events of the gateway, each reported once
channels          notifications by webhook, mail and desktop
"""
