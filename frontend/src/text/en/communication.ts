export const communication = {
  title: "Communication",
  back: "Back to all",
  count: "{{from}} → {{to}}: {{count}}",
  emptyAbout: "As soon as entities write to each other, you see here who wrote to whom, and what.",
  emptyTitle: "Nobody has written yet",
  fromTo: "{{from}} → {{to}}",
  messages: "messages",
  pairs: "Who wrote to whom",
  texts: "Texts",
  to: "to",
};
