// How large the screen is.
import { useSyncExternalStore } from "react";

const NARROW = "(max-width: 720px)";

const subscribe = (changed: () => void) => {
  const query = window.matchMedia?.(NARROW);
  query?.addEventListener("change", changed);
  return () => query?.removeEventListener("change", changed);
};

/** Whether the screen is as narrow as a phone's. */
export const useIsNarrow = (): boolean =>
  useSyncExternalStore(subscribe, () => window.matchMedia?.(NARROW).matches ?? false);
