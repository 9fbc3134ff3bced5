// Values as people read them, in the words of the command line: money, tokens, sizes, times. Pure.

const group = (value: number, digits: number) =>
  value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });

/** Dollars; an unknown price as nothing. */
export function formatMoney(usd: number | null | undefined): string {
  if (usd == null) return "";
  return `$${group(usd, usd !== 0 && Math.abs(usd) < 1 ? 4 : 2)}`;
}

/** Dollars in a narrow place, only the smallest with four digits. */
export function formatShortMoney(usd: number | null | undefined): string {
  if (usd == null) return "";
  return `$${group(usd, usd > 0 && usd < 0.01 ? 4 : 2)}`;
}

export const formatCount = (count: number): string => group(Math.trunc(count), 0);

/** A number in at most five characters: 812, 12.3k, 4.5M. */
export function formatShortCount(count: number): string {
  if (count < 1000) return String(count);
  if (count < 100_000) return `${(count / 1000).toFixed(1)}k`;
  return count < 1_000_000 ? `${(count / 1000).toFixed(0)}k` : `${(count / 1e6).toFixed(1)}M`;
}

/** Bytes in the unit that fits. */
export function formatSize(bytes: number): string {
  let amount = bytes;
  for (const unit of ["B", "KB", "MB"]) {
    if (amount < 1000) return `${amount.toFixed(unit === "B" || amount >= 10 ? 0 : 1)} ${unit}`;
    amount /= 1000;
  }
  return `${amount.toFixed(1)} GB`;
}

/** A length of time: 4.2 s, 3 min 5 s, 2 h 10 min. */
export function formatSeconds(seconds: number): string {
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const whole = Math.floor(seconds);
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes} min ${whole % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** A length of time in at most four characters: 7s, 12m, 3h, 2d. */
export function formatAge(seconds: number): string {
  for (const [unit, size] of [["d", 86400], ["h", 3600], ["m", 60]] as const) {
    if (seconds >= size) return `${Math.floor(seconds / size)}${unit}`;
  }
  return `${Math.max(0, Math.floor(seconds))}s`;
}

export type TimeForm = "time" | "full" | "day";

/** An epoch time in the reader's zone, with the date if it is not today's. */
export function formatTime(at: number, now: number, language: string, form: TimeForm = "time"): string {
  const when = new Date(at * 1000);
  const isToday = when.toDateString() === new Date(now * 1000).toDateString();
  const clock = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" } as const;
  const day = { year: "numeric", month: "short", day: "numeric" } as const;
  if (form === "day") return when.toLocaleDateString(language, day);
  if (form === "time" && isToday) return when.toLocaleTimeString(language, clock);
  return when.toLocaleString(language, { ...day, ...clock });
}

/** The last part of an address or id: `survey-1a2b/worker-ada` is `worker-ada`. */
export const lastPart = (address: string): string => address.slice(address.lastIndexOf("/") + 1);

const UNSEEN = /[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069]/gu;

/** Code whose unseen characters, which may turn the order of others, are seen: `⟨U+202E⟩`. */
export const withUnseenShown = (code: string): string =>
  code.replace(UNSEEN, (one) => `⟨U+${one.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}⟩`);

/** A Markdown text without its first heading if that is the title under which it is shown. */
export const withoutTitle = (text: string, title: string): string =>
  text.startsWith(`# ${title}\n`) ? text.slice(title.length + 3).trimStart() : text;
