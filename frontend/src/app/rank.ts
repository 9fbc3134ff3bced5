// How well what one types fits a name: all of its words must be there. Pure.

/** Return 0 for what does not fit, else more the earlier the words begin in the name. */
export function rank(name: string, typed: string, about: readonly string[] = []): number {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const text = name.toLowerCase();
  const more = about.join(" ").toLowerCase();
  const scores = words.map((word) => {
    if (text.startsWith(word)) return 1;
    if (text.split(/[^\p{L}\p{N}]+/u).some((part) => part.startsWith(word))) return 0.8;
    if (text.includes(word)) return 0.5;
    return more.includes(word) ? 0.2 : 0;
  });
  return Math.min(1, ...scores);
}
