import type { communication as en } from "../en/communication";

export const communication: typeof en = {
  title: "Kommunikation",
  back: "Zurück zu allen",
  count: "{{from}} → {{to}}: {{count}}",
  emptyAbout: "Sobald Entitäten einander schreiben, steht hier, wer wem was geschrieben hat.",
  emptyTitle: "Noch hat niemand geschrieben",
  fromTo: "{{from}} → {{to}}",
  messages: "Nachrichten",
  pairs: "Wer wem schrieb",
  studio: "Im Studio öffnen",
  texts: "Texte",
  to: "an",
  turns: "Züge",
  turn: "{{number}}. {{from}} → {{to}}",
  next: "{{role}} ist am Zug, von höchstens {{max}} Zügen.",
  ended_running: "Das Team arbeitet.",
  ended_finalized: "Die Leitung hat die Arbeit beendet.",
  ended_max_turns: "Alle Züge sind verbraucht: Die Leitung hat die Arbeit nicht beendet.",
  ended_lead_failed: "Die Leitung ist immer wieder gescheitert.",
  ended_stopped: "Der Lauf wurde angehalten.",
};
