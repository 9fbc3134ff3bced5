import type { events as en } from "../en/events";

export const events: typeof en = {
  title: "Ereignisse",
  type: "Typ",
  entity: "Beteiligter",
  node: "Knoten",
  allTypes: "Alle Typen",
  everyone: "Alle",
  none: "Nichts passt",
  noneAbout: "Kein Ereignis dieses Agenten hat diesen Typ, Beteiligten und Knoten. Was ab jetzt geschieht, erscheint hier.",
  newer: "{{count}} neue Ereignisse",
  newer_one: "{{count}} neues Ereignis",
  toEnd: "Zum neuesten",
  export: "Exportieren",
  exported: "{{shown}} Ereignisse exportiert",
  exported_one: "{{shown}} Ereignis exportiert",
  notExported: "Die Ereignisse wurden nicht exportiert",
  toNode: "der Knoten",
  run: "Lauf {{run}}",
  copy: "Adresse dieses Ereignisses kopieren",
  copied: "Kopiert",
  notCopied: "Dieser Browser erlaubt das nicht",
};
