import { expect, test } from "vitest";

import type { RoleTeam } from "~/api/roles";
import { BLANK, draftOf, isTurns, nameProblem, newRole, problemsByField, sectionOf, taskOf } from "./draft";

const TEAM = {
  lead_role: "project_manager",
  max_turns: 12,
  repetitions: 2,
  transcript_turns: 8,
  roles: [
    {
      name: "qa_engineer",
      title: "QA",
      agent: "gemini",
      fallback: "",
      responsibilities: "Test",
      may_write: true,
      is_lead: false,
      is_default: true,
      kind: "cli",
      model: "",
      is_local: false,
      advisory: false,
      left_out: "",
      problem: "",
    },
  ],
  problems: [],
  is_offline: false,
  etag: "e1",
} as RoleTeam;

test("a form stands for the section that it was made of; what is no number is left to the check", () => {
  const draft = draftOf(TEAM);
  expect(sectionOf(draft)).toEqual({
    lead_role: "project_manager",
    max_turns: 12,
    repetitions: 2,
    transcript_turns: 8,
    roles: {
      qa_engineer: { title: "QA", agent: "gemini", responsibilities: "Test", may_write: true },
    },
  });
  expect(sectionOf({ ...draft, maxTurns: "many", roles: [newRole("writer")] })).toMatchObject({
    max_turns: "many",
    roles: { writer: { may_write: false } },
  });
});

test("a role needs a name of its own", () => {
  const draft = draftOf(TEAM);
  expect(["writer", "qa_engineer", "user", "Two words", ""].map((name) => nameProblem(name, draft))).toEqual([
    null,
    "taken",
    "malformed",
    "malformed",
    "malformed",
  ]);
  const full = { ...draft, roles: Array.from({ length: 24 }, (_, number) => newRole(`r${number}`)) };
  expect(nameProblem("writer", full)).toBe("full");
});

test("what is wrong is said at its field", () => {
  const found = problemsByField([
    "agentic_team.max_turns: Input should be greater than or equal to 1",
    "role 'qa_engineer': agent 'gemini': it is not installed",
    "agentic_team.roles.qa_engineer.title: too long",
    "unknown role in agentic_team.lead_role 'boss' (known: qa_engineer)",
    "agents.yaml:3: no YAML",
  ]);
  expect([...found.keys()]).toEqual([
    "max_turns",
    "roles.qa_engineer.agent",
    "roles.qa_engineer.title",
    "lead_role",
    "",
  ]);
});

test("a task is asked with its own terms, and told of the ones before only if it follows up", () => {
  const earlier = [{ task: "one", output: "1" }];
  const draft = { ...BLANK, task: " Go on ", maxTurns: "6", folder: "/data" };
  expect(taskOf(draft, earlier)).toEqual({
    goal: "Go on",
    input: "/data",
    model: null,
    roles: { max_turns: 6, offline: false, earlier },
  });
  expect(taskOf({ ...draft, followsUp: false, maxTurns: "0" }, earlier).roles).toEqual({
    max_turns: null,
    offline: false,
    earlier: [],
  });
  expect(["", "1", "200", "201", "0", "x"].map(isTurns)).toEqual([true, true, true, false, false, false]);
});
