// What differs between two texts, line by line, with some lines around. Pure.
import { structuredPatch } from "diff";

export interface DiffLine {
  kind: "same" | "added" | "removed" | "gap";
  before: number | null;
  after: number | null;
  text: string;
}

const AROUND = 3;

export function diffLines(before: string, after: string): DiffLine[] {
  const patch = structuredPatch("", "", before, after, "", "", { context: AROUND });
  const lines: DiffLine[] = [];
  for (const hunk of patch.hunks) {
    let [old, now] = [hunk.oldStart, hunk.newStart];
    if (lines.length || old > 1 || now > 1) {
      lines.push({ kind: "gap", before: null, after: null, text: "" });
    }
    for (const line of hunk.lines) {
      const text = line.slice(1);
      if (line.startsWith("+")) lines.push({ kind: "added", before: null, after: now++, text });
      else if (line.startsWith("-")) lines.push({ kind: "removed", before: old++, after: null, text });
      else if (line.startsWith(" ")) lines.push({ kind: "same", before: old++, after: now++, text });
    }
  }
  return lines;
}
