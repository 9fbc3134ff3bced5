"""Approvals: actions that need the person's approval; the policy and its decisions, pure."""
