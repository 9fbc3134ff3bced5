"""The inbox: messages, questions, answers and notifications of the human, on disk.

bus               the calls of the inbox and the API to the other processes
database          one SQLite file for messages, questions and dead letters
message_history   messages between the human and the entities
questions         open and closed questions; question_records are their rows
approval_grants   answers "allow always" that answer later questions
answer_delivery   ends questions that can no longer be answered, and delivers each outcome
dead_letters      messages that repeatedly crashed their receivers
idempotency_store answers of HTTP calls that may be repeated
event_reporter    events of the gateway, each reported once
channels          notifications by webhook, mail and desktop
"""
