"""An example of each request record of the HTTP API, and of the most common responses."""

from typing import Any, Final

JsonObject = dict[str, Any]

AGENT: Final = "survey-this-folder-3fa9c1"
RUN: Final = "20260102-101500-4be21a"

EXAMPLES: Final[dict[str, list[JsonObject]]] = {
    "CreateAgentRequest": [
        {"goal": "Survey this folder", "input": "/home/ada/data", "budget_usd": 2.5},
        {
            "goal": "Watch the release notes",
            "name": "watcher",
            "mode": "infinite",
            "cycle_seconds": 3600,
        },
    ],
    "CheckAgentRequest": [{"goal": "Survey this folder", "input": "/home/ada/data"}],
    "CheckPlanRequest": [
        {"plan": "nodes:\n- id: prices\n  task: Find three prices", "form": "mermaid"}
    ],
    "StartRunRequest": [{"goal": "Now compare it with last year's", "budget_usd": 1}],
    "SendTextRequest": [
        {"message": "Also include Qualcomm"},
        {"message": "Stop, the file is wrong", "to": "Alice", "mode": "interrupt"},
        {"message": "Take these prices", "attachments": ["_attachments/prices.csv"]},
    ],
    "NudgeRequest": [{"message": "Be brief"}],
    "RespondRequest": [{"response": "PostgreSQL", "question_id": "q-5d41aa07"}],
    "AnswerRequest": [{"answer": "PostgreSQL", "by": "Ada", "via": "web"}],
    "RetryNodeRequest": [{"because": "the file is there now"}],
    "CancelNodeRequest": [{"because": "we have the numbers already"}],
    "AssignNodeRequest": [
        {"worker": "Alice"},
        {"model": "anthropic/claude-opus-4-5", "because": "it is harder than it looked"},
    ],
    "EditMemoryRequest": [{"content": "# Reports\n\nAt most one page.\n", "tell": True}],
    "SearchKnowledgeRequest": [
        {"query": "flaky tests", "kinds": ["mistake"], "project": "/src/shop"}
    ],
    "AddKnowledgeRequest": [
        {"kind": "preference", "title": "Short reports", "text": "At most one page."},
        {
            "kind": "decision",
            "title": "PostgreSQL instead of SQLite",
            "text": "Several processes write at once.",
            "project": "/src/shop",
        },
    ],
    "PruneKnowledgeRequest": [{"older_than_seconds": 15552000, "below": 0.3, "dry_run": True}],
    "ScanProjectRequest": [{"path": "/src/shop"}],
    "AttachmentView": [
        {
            "path": "_attachments/prices.csv",
            "name": "prices.csv",
            "size": 5120,
            "media_type": "text/csv; charset=utf-8",
        }
    ],
    "DeclareInputRequest": [
        {
            "name": "papers",
            "files": [
                {
                    "path": "a.md",
                    "kind": "file",
                    "size": 5,
                    "mode": 420,
                    "mtime_ns": 0,
                    "target": "",
                    "digest": "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
                }
            ],
        }
    ],
    "SearchMemoryRequest": [{"query": "melting point"}],
    "CreateTriggerRequest": [
        {
            "type": "scheduled",
            "config": {"cron": "0 9 * * 1-5"},
            "action": "Tell me what is new",
            "name": "mornings",
        }
    ],
    "CreateTokenRequest": [{"name": "dashboard", "scope": "read", "expires_in_seconds": 2592000}],
    "CreateLoginLinkRequest": [{"scope": "talk", "next": f"/ui/agents/{AGENT}"}],
    "SetBudgetRequest": [{"usd": 5, "tokens": "none"}, {"tokens": 2000000}],
    "BudgetView": [
        {
            "scope": "agent",
            "agent": AGENT,
            "agent_name": "survey-this-folder",
            "key": AGENT,
            "name": "survey-this-folder",
            "period": "day",
            "day": "2026-01-02",
            "usd": 5,
            "tokens": None,
            "spent_usd": 1.25,
            "spent_tokens": 310000,
            "left_usd": 3.75,
            "left_tokens": None,
            "raises": 0,
            "is_own": True,
        }
    ],
    "EditSettingsRequest": [
        {"changes": [{"key": ["run", "max_concurrent"], "value": 8, "remove": False}]},
        {"text": "run:\n  max_concurrent: 8\n"},
    ],
    "SettingChange": [{"key": ["run", "max_concurrent"], "value": 8}],
    "InviteHostRequest": [{"name": "build-2", "labels": ["gpu"], "seconds": 3600}],
    "LabelHostRequest": [{"labels": ["gpu", "has:docker"]}],
    "MoveEntityRequest": [{"host": "build-2"}, {"host": "home"}],
    "SaveRolesRequest": [
        {"section": {"max_turns": 16, "roles": {"software_developer": {"agent": "codex"}}}}
    ],
    "SetPresenceRequest": [{"status": "away", "until": 1767348000, "channel": "mail"}],
    "AgentView": [
        {
            "id": AGENT,
            "name": "survey-this-folder",
            "goal": "Survey this folder",
            "mode": "finite",
            "model": "anthropic/claude-sonnet-4-5",
            "worker_model": "anthropic/claude-sonnet-4-5",
            "status": "working",
            "run": RUN,
            "current_stage": "reading",
            "node_count": 3,
            "nodes_ended": 1,
            "worker_count": 2,
            "open_questions": 1,
            "created_at": 1767348900.5,
            "updated_at": 1767348960.25,
        }
    ],
    "SentView": [{"id": "9f0c2d", "to": ["Alice"], "ts": 1767348960.25}],
    "Event": [
        {
            "type": "node.completed",
            "agent_id": AGENT,
            "ts": 1767348990.5,
            "entity": "alice-7c01aa",
            "run_id": RUN,
            "node_id": "a1b2c3",
            "data": {"name": "tables", "worker": "Alice", "summary": "Three tables found"},
            "seq": 42,
        }
    ],
    "ProblemView": [
        {
            "type": "about:blank",
            "title": "Not Found",
            "status": 404,
            "detail": "unknown agent 'surveyy' (known: survey-this-folder)",
            "instance": "/agents/surveyy",
        }
    ],
}
