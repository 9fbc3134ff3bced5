"""What coordinator and worker processes share: model calls, messages, questions, approvals."""
