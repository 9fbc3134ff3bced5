import type { login as en } from "../en/login";

export const login: typeof en = {
  title: "Anmelden",
  about: "Geben Sie diesen Befehl auf dem Rechner ein, auf dem Agiraph läuft, und öffnen Sie den ausgegebenen Link:",
  orUi: "oder öffnen Sie den Browser direkt:",
  waiting: "Diese Seite wird automatisch fortgesetzt, sobald Sie angemeldet sind.",
  code: "Code einfügen",
  away: "Agiraph antwortet nicht; es wird erneut versucht.",
};
