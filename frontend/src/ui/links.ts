// Which addresses a text of others may lead to: http, https and mailto alone. Pure.

const ALLOWED = new Set(["http:", "https:", "mailto:"]);

/** Return an address if it may be followed, else ''; relative ones lead nowhere. */
export function safeAddress(address: string): string {
  try {
    const url = new URL(address);
    return ALLOWED.has(url.protocol) ? url.href : "";
  } catch {
    return "";
  }
}
