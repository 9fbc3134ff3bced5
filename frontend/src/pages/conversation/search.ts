// Searching in a conversation. Pure.
import { type Item, textOf } from "./items";

/** Return the keys of the items in which all words of a query stand, in their order. */
export function hitsOf(items: readonly Item[], query: string): string[] {
  const words = wordsOf(query);
  if (!words.length) return [];
  return items
    .filter((item) => {
      const text = textOf(item).toLocaleLowerCase();
      return words.every((word) => text.includes(word));
    })
    .map((item) => item.key);
}

export const wordsOf = (query: string): string[] =>
  query.toLocaleLowerCase().split(/\s+/).filter(Boolean);

/** Return the hit to show after a step from the one shown; from none, the newest. */
export function stepTo(hits: readonly string[], shown: string | null, step: 1 | -1): string | null {
  if (!hits.length) return null;
  const place = shown === null ? -1 : hits.indexOf(shown);
  if (place < 0) return hits.at(-1) ?? null;
  return hits[place + step] ?? (step < 0 ? (hits[0] ?? null) : (hits.at(-1) ?? null));
}
