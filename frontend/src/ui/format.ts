// Values as people read them, in the words of the command line: money, tokens, sizes, times. Pure.

const numbers = new Map<number, Intl.NumberFormat>();

function group(value: number, digits: number): string {
  const known = numbers.get(digits);
  const exactly = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  const format = known ?? new Intl.NumberFormat("en-US", exactly);
  if (!known) numbers.set(digits, format);
  return format.format(value);
}

/** An amount as text, marked if the service has not counted all of it. */
export function markEstimate(text: string, isEstimate: boolean | undefined): string {
  return text && isEstimate ? `~${text}` : text;
}

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

const CLOCK = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" } as const;
const DAY = { year: "numeric", month: "short", day: "numeric" } as const;
const FORMS = {
  day: DAY,
  clock: CLOCK,
  minute: { hour: "2-digit", minute: "2-digit", hourCycle: "h23" },
  full: { ...DAY, ...CLOCK },
} as const;
const times = new Map<string, Intl.DateTimeFormat>();

/** An epoch time in one of the forms; a format is dear to make, and made once. */
export function formatAs(form: keyof typeof FORMS, at: number, language: string): string {
  const name = `${form} ${language}`;
  const known = times.get(name);
  const format = known ?? new Intl.DateTimeFormat(language, FORMS[form]);
  if (!known) times.set(name, format);
  return format.format(at * 1000);
}

/** An epoch time in the reader's zone, with the date if it is not today's. */
export function formatTime(at: number, now: number, language: string, form: TimeForm = "time"): string {
  if (form !== "time") return formatAs(form, at, language);
  return formatAs(dayOf(now) === dayOf(at) ? "clock" : "full", at, language);
}

/** Return what tells the day of a time in the reader's zone: cheap while the day stays the same. */
export function makeDayOf(): (at: number) => number {
  let [start, end] = [0, 0];
  return (at) => {
    if (at < start || at >= end) {
      const date = new Date(at * 1000);
      const [year, month, day] = [date.getFullYear(), date.getMonth(), date.getDate()];
      start = new Date(year, month, day).getTime() / 1000;
      end = new Date(year, month, day + 1).getTime() / 1000;
    }
    return start;
  };
}

const dayOf = makeDayOf();

/** The last part of an address or id: `survey-1a2b/worker-ada` is `worker-ada`. */
export const lastPart = (address: string): string => address.slice(address.lastIndexOf("/") + 1);

const UNSEEN = /[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069]/gu;

/** Code whose unseen characters, which may turn the order of others, are seen: `⟨U+202E⟩`. */
export const withUnseenShown = (code: string): string =>
  code.replace(UNSEEN, (one) => `⟨U+${one.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}⟩`);

const LINE_ENDS = /\s*[\n\u2028\u2029]\s*/g;

/** A text in one line: its line ends are seen as `⏎`, so that a comment does not hide the command below it. */
export const oneLine = (text: string): string =>
  text.trim().replace(LINE_ENDS, " ⏎ ").replace(/\s+/g, " ");

/** A Markdown text without its first heading if that is the title under which it is shown. */
export const withoutTitle = (text: string, title: string): string =>
  text.startsWith(`# ${title}\n`) ? text.slice(title.length + 3).trimStart() : text;
