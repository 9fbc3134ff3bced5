// Searching in a conversation: what is searched for, and the way from hit to hit. Pure.

export const wordsOf = (query: string): string[] =>
  query.toLocaleLowerCase().split(/\s+/).filter(Boolean);

/** Return the hit to show after a step from the one shown; from none, the newest. */
export function stepTo(hits: readonly string[], shown: string | null, step: 1 | -1): string | null {
  if (!hits.length) return null;
  const place = shown === null ? -1 : hits.indexOf(shown);
  if (place < 0) return hits.at(-1) ?? null;
  return hits[place + step] ?? (step < 0 ? (hits[0] ?? null) : (hits.at(-1) ?? null));
}

/** Return where in a text the words are, as pairs of beginning and end. */
export function placesOf(text: string, words: readonly string[]): [number, number][] {
  const low = text.toLocaleLowerCase();
  if (low.length !== text.length) return []; // another length in small letters: no place is right
  const places: [number, number][] = [];
  for (const word of words) {
    for (let at = low.indexOf(word); at >= 0; at = low.indexOf(word, at + word.length)) {
      places.push([at, at + word.length]);
    }
  }
  return places;
}
