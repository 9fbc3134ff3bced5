import { expect, test } from "vitest";

import { actsFor } from "./activity";

test("what can be done follows from how it stands", () => {
  expect(actsFor("busy", "ready")).toEqual(["pause", "interrupt", "restart", "stop", "kill"]);
  expect(actsFor("paused", "ready")).toContain("step");
  expect(actsFor("stopped", null)).toEqual(["resume", "restart"]);
});
