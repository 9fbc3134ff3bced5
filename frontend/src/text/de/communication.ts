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
  texts: "Texte",
  to: "an",
};
