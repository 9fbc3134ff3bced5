"""Approvals: which actions need the human's approval; the policy and its verdicts, pure."""
