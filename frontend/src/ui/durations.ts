// Lengths of time as people write them on the command line: 30m, 12h, 30d. Pure.

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86400, w: 604800 };

/** Return the seconds of a duration such as 30d, null for a text that is none. */
export function secondsOf(text: string): number | null {
  const found = /^(\d+(?:\.\d+)?)\s*([smhdw])$/i.exec(text.trim());
  if (!found) return null;
  return Number(found[1]) * (UNITS[found[2]?.toLowerCase() ?? ""] ?? 0);
}
