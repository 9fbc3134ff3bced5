import type { communication as en } from "../en/communication";

export const communication: typeof en = {
  title: "Kommunikation",
  back: "Alle Nachrichten",
  count: "{{from}} → {{to}}: {{count}}",
  emptyAbout: "Hier erscheinen die Nachrichten zwischen Entitäten, mit Absender, Empfänger und Text.",
  emptyTitle: "Noch keine Nachrichten",
  fromTo: "{{from}} → {{to}}",
  messages: "Nachrichten",
  pairs: "Absender und Empfänger",
  studio: "Im Studio öffnen",
  texts: "Texte",
  to: "an",
  turns: "Züge",
  turn: "{{number}}. {{from}} → {{to}}",
  next: "{{role}} hat den nächsten von höchstens {{max}} Zügen.",
  ended_running: "Die Rollen arbeiten.",
  ended_finalized: "Die leitende Rolle hat die Arbeit beendet.",
  ended_max_turns: "Alle Züge sind verbraucht; die leitende Rolle hat die Arbeit nicht beendet.",
  ended_lead_failed: "Die leitende Rolle ist mehrmals hintereinander fehlgeschlagen.",
  ended_stopped: "Der Lauf wurde gestoppt.",
};
