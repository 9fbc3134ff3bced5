// @vitest-environment jsdom
import { renderHook, waitFor } from "@testing-library/react";
import { afterAll, beforeAll, expect, test } from "vitest";

import { setLanguage, startTexts } from "~/text/i18n";
import type { AgentEvent } from "./eventLog";
import { useEventText } from "./eventText";

const failed = {
  type: "node.failed",
  text: "failed tables",
  detail: "reason",
  data: { name: "tables", reason: "no\n time", checks: [{ a: 1 }], paths: ["a", "b"] },
} as unknown as AgentEvent;

beforeAll(startTexts);
afterAll(() => setLanguage("en"));

test("an event has the gateway's sentence in English and a template in German", async () => {
  const { result } = renderHook(useEventText);
  expect(result.current.line(failed)).toBe("failed tables: no ⏎ time");
  await setLanguage("de");
  await waitFor(() => expect(result.current.sentence(failed)).toBe("tables ist fehlgeschlagen"));
  const newer = { ...failed, type: "moon.rose", text: "moon.rose phase=full" };
  expect(result.current.line({ ...newer, detail: "" })).toBe("moon.rose phase=full");
});
