import type { common as en } from "../en/common";

export const common: typeof en = {
  again: "Erneut versuchen",
  cancel: "Abbrechen",
  close: "Schließen",
  copy: "Kopieren",
  difference: "Unterschied",
  loading: "Wird geladen",
  noDifference: "Kein Unterschied",
  notification: "Benachrichtigung",
  save: "Speichern",
  search: "Suchen",
  tokens: "{{shown}} Token",
  tokens_one: "{{shown}} Token",
  unread: "{{count}} ungelesene Nachrichten",
  unread_one: "{{count}} ungelesene Nachricht",
};
