import { expect, test } from "vitest";

import type { FileEntry, Folder } from "~/api/files";
import { foldersAbove, found, kindOf, languageOf, parseTable, rowsOf } from "./tree";

const entry = (path: string, kind: FileEntry["kind"] = "file"): FileEntry => ({
  path,
  kind,
  name: path.slice(path.lastIndexOf("/") + 1),
  size: 1,
  modified_at: 1,
  media_type: "",
});
const folder = (path: string, ...entries: FileEntry[]): Folder => ({ path, entries, is_truncated: false });

test("only open folders that have come have rows", () => {
  const folders = new Map(
    [
      folder("", entry("nodes", "folder"), entry("a.md")),
      folder("nodes", entry("nodes/x", "folder")),
    ].map((one) => [one.path, one]),
  );
  const shown = (...open: string[]) =>
    rowsOf(folders, new Set(open)).map(({ entry: { path }, level }) => [path, level]);
  expect(shown()).toEqual([["nodes", 0], ["a.md", 0]]);
  expect(shown("nodes", "nodes/x")).toEqual([["nodes", 0], ["nodes/x", 1], ["a.md", 0]]);
  expect(foldersAbove("nodes/x/published/a.md")).toEqual(["nodes", "nodes/x", "nodes/x/published"]);
  expect(foldersAbove("a.md")).toEqual([]);
});

test("files are found by words of their path, names first", () => {
  const all = [entry("nodes/report/x.md"), entry("nodes/b/Report.md"), entry("report", "folder")];
  expect(found(all, "report").map((one) => one.path)).toEqual(["nodes/b/Report.md", "nodes/report/x.md"]);
  expect(found(all, "b report")).toHaveLength(1);
});

test("a file is shown by its type, its name and whether it is text", () => {
  expect(kindOf("text/markdown; charset=utf-8", "a.md", true)).toBe("markdown");
  expect(kindOf("text/markdown; charset=utf-8", "a.md", false)).toBe("binary");
  expect(kindOf("image/svg+xml", "a.svg", true)).toBe("image");
  expect(kindOf("text/html; charset=utf-8", "a.html", true)).toBe("text");
  expect(kindOf("text/csv; charset=utf-8", "a.CSV", true)).toBe("table");
  expect(kindOf("application/octet-stream", "LICENSE", true)).toBe("text");
  expect([languageOf("a.yml"), languageOf("x/b.py"), languageOf("Makefile")]).toEqual(["yaml", "py", ""]);
});

test("a table's cells may hold separators, quotes and lines", () => {
  expect(parseTable('a,b\r\n"x, ""y""","1\n2"\n,\n', ",")).toEqual([
    ["a", "b"],
    ['x, "y"', "1\n2"],
    ["", ""],
  ]);
  expect(parseTable("a\tb", "\t")).toEqual([["a", "b"]]);
  expect(parseTable("", ",")).toEqual([]);
});
