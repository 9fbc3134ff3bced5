"""Approvals: which actions need the human's word; the policy and its judgement, pure."""
