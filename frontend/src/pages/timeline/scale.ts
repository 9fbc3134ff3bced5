// What stretch of time is shown, and how it is zoomed and moved. Pure.

export interface Window {
  readonly from: number;
  readonly to: number;
}

const LEAST_SECONDS = 0.05;

/** Return the window zoomed about a time, within the limits of the run. */
export function zoomed(window: Window, at: number, factor: number, limits: Window): Window {
  const wanted = Math.max(LEAST_SECONDS, (window.to - window.from) * factor);
  const length = Math.min(wanted, limits.to - limits.from);
  const share = (at - window.from) / (window.to - window.from);
  return within({ from: at - share * length, to: at + (1 - share) * length }, limits);
}

/** Return the window moved by some seconds, within the limits of the run. */
export const moved = (window: Window, seconds: number, limits: Window): Window =>
  within({ from: window.from + seconds, to: window.to + seconds }, limits);

function within(window: Window, limits: Window): Window {
  const length = window.to - window.from;
  if (length >= limits.to - limits.from) return limits;
  const from = Math.min(Math.max(window.from, limits.from), limits.to - length);
  return { from, to: from + length };
}

const STEPS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14400, 43200, 86400];

/** Return the seconds since `start` at which the axis has a mark: at most `most` of them. */
export function ticksOf(window: Window, start: number, most: number): { at: number; step: number }[] {
  const length = window.to - window.from;
  const step = STEPS.find((one) => length / one <= most) ?? 86400 * Math.ceil(length / most / 86400);
  const first = Math.ceil((window.from - start) / step);
  const last = Math.floor((window.to - start) / step);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, place) => ({
    at: start + (first + place) * step,
    step,
  }));
}

/** Return a time since the start as the axis shows it, as exact as its steps are. */
export function tickText(seconds: number, step: number): string {
  if (step < 1) return `${seconds.toFixed(step < 0.1 ? 2 : 1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60 && step < 60) return `${whole} s`;
  const pad = (value: number) => String(value).padStart(2, "0");
  const clock = `${pad(Math.floor((whole % 3600) / 60))}:${pad(whole % 60)}`;
  return whole < 3600 ? clock : `${Math.floor(whole / 3600)}:${clock}`;
}
