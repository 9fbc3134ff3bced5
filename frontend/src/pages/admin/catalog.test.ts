import { expect, test } from "vitest";

import { providersOf } from "./catalog";

const rows = [
  { name: "google", usable: false, reason: "GEMINI_API_KEY or GOOGLE_API_KEY is not set", default_model: "google/gemini", models: [] },
  { name: "ollama", usable: false, reason: "does not answer", default_model: null, models: [] },
  { name: "openai", usable: true, reason: "", default_model: "openai/gpt", models: [{ name: "openai/gpt", input: 1, output: 2, context: 1000 }] },
];

test("services that can be used come first, each with its models", () => {
  const found = providersOf(rows);
  expect(found.map(({ name }) => name)).toEqual(["openai", "google", "ollama"]);
  expect(found[0]?.models).toEqual([{ name: "openai/gpt", input: 1, output: 2, context: 1000 }]);
  expect(found[1]?.models.map(({ name }) => name)).toEqual(["google/gemini"]);
});

test("a missing key is named by its first variable", () => {
  expect(providersOf(rows).map(({ variable }) => variable)).toEqual(["", "GEMINI_API_KEY", ""]);
});
