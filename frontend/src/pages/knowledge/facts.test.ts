import { expect, test } from "vitest";

import type { KnowledgeNode } from "~/api/knowledge";
import { factsOf } from "./facts";

const node: KnowledgeNode = {
  id: "c-1",
  kind: "project",
  title: "shop",
  text: "",
  project_id: "shop-3fa9c1",
  tags: [],
  importance: 0.5,
  created: 1,
  updated: 1,
  used: 0,
  last_used: null,
  agent: "",
  run: "",
  data: { stack: ["python", "sqlite"], path: null, of: { a: 1 } },
};

test("facts without a value are left out, lists and objects are in words", () => {
  expect(factsOf(node)).toEqual([
    ["project", "shop-3fa9c1"],
    ["importance", "0.5"],
    ["stack", "python, sqlite"],
    ["of", '{"a":1}'],
  ]);
});
