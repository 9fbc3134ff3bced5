import type { login as en } from "../en/login";

export const login: typeof en = {
  title: "Anmelden",
  about: "Geben Sie dies ein, wo Agiraph läuft, und öffnen Sie den Link, der erscheint:",
  orUi: "oder, um den Browser öffnen zu lassen:",
  waiting: "Diese Seite geht von selbst weiter, sobald Sie angemeldet sind.",
  code: "Code einfügen",
  away: "Agiraph antwortet nicht; es wird weiter versucht.",
};
