"""The shared parts of coordinators and workers: model calls, messages, questions, approvals."""
