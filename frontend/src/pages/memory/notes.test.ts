import { expect, test } from "vitest";

import { foldersOf, isNotePath, nameOf } from "./notes";

const note = (path: string) => ({ path, size: 1, modified_at: 1, etag: "" });

test("notes stand by their folders, daily logs last, the newest first", () => {
  const notes = ["MEMORY.md", "2026-01-01.md", "2026-01-02.md", "index.md", "knowledge/x.md"].map(note);
  expect(foldersOf(notes, "days").map(({ name, notes: of }) => [name, of.map((one) => one.path)])).toEqual([
    ["", ["MEMORY.md", "index.md"]],
    ["knowledge", ["knowledge/x.md"]],
    ["days", ["2026-01-02.md", "2026-01-01.md"]],
  ]);
  expect(foldersOf([], "days")).toEqual([]);
  expect(nameOf("knowledge/a b.md")).toBe("a b");
});

test("a note's path ends with .md and leads nowhere else", () => {
  expect(["x.md", "preferences/reports.md", "a/b/c/d/e.md"].every(isNotePath)).toBe(true);
  for (const odd of ["", "x", "x.txt", "../x.md", "/x.md", "a//x.md", ".x.md", "a/b/c/d/e/f.md"]) {
    expect(isNotePath(odd), odd).toBe(false);
  }
});
