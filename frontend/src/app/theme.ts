// Light, dark, or as the system is; kept in this browser.
import { useSyncExternalStore } from "react";

export type Theme = "light" | "dark" | "system";
export const THEMES: readonly Theme[] = ["light", "dark", "system"];

const KEPT_AS = "agiraph.theme";
const listeners = new Set<() => void>();
const isDark = () => window.matchMedia("(prefers-color-scheme: dark)");

export function theme(): Theme {
  const kept = localStorage.getItem(KEPT_AS);
  return THEMES.find((one) => one === kept) ?? "system";
}

function apply(): void {
  const chosen = theme();
  const shown = chosen === "system" ? (isDark().matches ? "dark" : "light") : chosen;
  document.documentElement.dataset["theme"] = shown;
}

export function setTheme(chosen: Theme): void {
  localStorage.setItem(KEPT_AS, chosen);
  apply();
  listeners.forEach((listener) => listener());
}

export function startTheme(): void {
  apply();
  isDark().addEventListener("change", apply);
}

export const useTheme = (): Theme =>
  useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, theme);
