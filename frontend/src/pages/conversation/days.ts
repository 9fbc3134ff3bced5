// Days as a reader names them. Pure.
import { formatAs } from "~/ui";

const DAY = 86_400_000;

export function dayName(at: number, now: number, language: string): string {
  const when = new Date(at * 1000);
  const start = (date: Date) => new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime();
  const days = Math.round((start(when) - start(new Date(now * 1000))) / DAY);
  if (days === 0 || days === -1) {
    const named = new Intl.RelativeTimeFormat(language, { numeric: "auto" }).format(days, "day");
    return named.charAt(0).toLocaleUpperCase(language) + named.slice(1);
  }
  const year = when.getFullYear() === new Date(now * 1000).getFullYear() ? {} : { year: "numeric" as const };
  return when.toLocaleDateString(language, { weekday: "long", day: "numeric", month: "long", ...year });
}

export const clockOf = (at: number, language: string): string => formatAs("minute", at, language);
