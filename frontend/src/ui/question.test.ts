import { expect, test } from "vitest";

import { askedOf, byNeed, changes, countdown, lineOf, optionOf, type Question } from "./question";

const question = (id: string, more: Partial<Question> = {}) =>
  ({ id, asked_at: 0, deadline_at: null, urgency: "normal", options: [], ...more }) as Question;

test("the first due comes first, then the urgent, then the oldest", () => {
  const all = [
    question("young", { asked_at: 9 }),
    question("old", { asked_at: 1 }),
    question("urgent", { asked_at: 9, urgency: "urgent" }),
    question("later", { deadline_at: 90 }),
    question("soon", { deadline_at: 50 }),
  ];
  expect(byNeed(all).map((one) => one.id)).toEqual(["soon", "later", "urgent", "old", "young"]);
});

test("what is left until it is due", () => {
  expect(countdown(100, 0)).toBe("1:40");
  expect(countdown(7384, 0)).toBe("2:03:04");
  expect(countdown(0, 5)).toBe("0:00");
});

test("a digit means an option", () => {
  expect(optionOf(question("q", { options: ["a", "b"] }), "2")).toBe("b");
  expect(optionOf(question("q", { options: ["a"] }), "2")).toBeUndefined();
});

test("what was open before is not announced; what is open no longer is taken back", () => {
  expect(changes(null, [question("a")])).toEqual({ came: [], gone: [] });
  const { came, gone } = changes(new Set(["a"]), [question("b")]);
  expect([came.map((one) => one.id), gone]).toEqual([["b"], ["a"]]);
});

test("a question in one line shows its line ends, and a command as it is", () => {
  expect(lineOf({ question: "## Is **this** `good`?\nmore", kind: "question" })).toBe("Is this good? ⏎ more");
  const command = "May I run this command? ls  # harmless\n`evil`";
  expect(lineOf({ question: command, kind: "approval" })).toBe("May I run this command? ls # harmless ⏎ `evil`");
});

test("questions of the shown agent come first, those of ended agents last", () => {
  const all = [
    question("ended", { agent: "c", deadline_at: 10 }),
    question("other", { agent: "b", deadline_at: 20 }),
    question("here", { agent: "a" }),
  ];
  const order = (agent: string) => byNeed(all, { agent, ended: new Set(["c"]) }).map((one) => one.id);
  expect(order("a")).toEqual(["here", "other", "ended"]);
  expect(order("")).toEqual(["other", "here", "ended"]);
});

test("the words of an approval do not repeat the action", () => {
  const about = { tool: "bash", subject: "rm $& x", rule: "", remember: "", shortage: "", digest: "", diff: "", arguments: "" };
  const asked = question("q", { kind: "approval", question: "May I run this command? rm $& x (it removes)", about });
  expect(askedOf(asked)).toBe("May I run this command? (it removes)");
});
