// The icons: outlines of 24 units, as one path each, in the colour of the text.
const PATHS = {
  menu: "M4 7h16M4 12h16M4 17h16",
  close: "M6 6l12 12M18 6 6 18",
  plus: "M12 5v14M5 12h14",
  minus: "M5 12h14",
  fit: "M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5",
  table: "M4 5h16v14H4zM4 10h16M10 10v9",
  focus: "M12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6M12 3v3M12 18v3M3 12h3M18 12h3",
  search: "M20 20l-4.2-4.2M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14",
  chevron: "M9 6l6 6-6 6",
  down: "M6 9l6 6 6-6",
  check: "M5 12.5l4.5 4.5L19 7",
  more: "M6 12a1 1 0 1 0-2 0 1 1 0 0 0 2 0M13 12a1 1 0 1 0-2 0 1 1 0 0 0 2 0M20 12a1 1 0 1 0-2 0 1 1 0 0 0 2 0",
  board: "M4 5h5v14H4zM15 5h5v8h-5zM9 9h6",
  timeline: "M4 6h9M8 12h9M12 18h8",
  communication: "M6 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6M18 22a3 3 0 1 0 0-6 3 3 0 0 0 0 6M8 8l8 8M18 4v8M6 12v8",
  team: "M12 8a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5M5.500 21a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5M18.500 21a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5M10.700 8l-4 8M13.300 8l4 8M8 18.500h8",
  chat: "M4 5h16v11H9l-5 4z",
  file: "M6 3h8l5 5v13H6zM14 3v5h5",
  folder: "M3 6h7l2 2h9v11H3z",
  memory: "M5 4h11l3 3v13H5zM9 9h6M9 13h6M9 17h3",
  knowledge: "M6 8a2 2 0 1 0 0-4 2 2 0 0 0 0 4M18 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4M10 20a2 2 0 1 0 0-4 2 2 0 0 0 0 4M8 6.500l8 1M7 8l2.500 8M16.500 9.500L11.500 16.500",
  trigger: "M12 7v5l3 2M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18",
  events: "M4 6h.01M8 6h12M4 12h.01M8 12h12M4 18h.01M8 18h12",
  usage: "M5 20V10M12 20V4M19 20v-7",
  settings: "M4 8h10M18 8h2M4 16h2M10 16h10M16 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4M8 18a2 2 0 1 0 0-4 2 2 0 0 0 0 4",
  health: "M3 12h4l2.5-7 5 14L17 12h4",
  home: "M4 11l8-7 8 7v9H4zM10 20v-6h4v6",
  sun: "M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8M12 3v1M12 20v1M3 12h1M20 12h1M5.6 5.6l.7.7M17.7 17.7l.7.7M5.6 18.4l.7-.7M17.7 6.3l.7-.7",
  moon: "M19 14.5A7.5 7.5 0 0 1 9.5 5a7.5 7.5 0 1 0 9.5 9.5",
  system: "M4 5h16v11H4zM9 20h6M12 16v4",
  language: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18M3 12h18M12 3c3 3 3 15 0 18M12 3c-3 3-3 15 0 18",
  pause: "M8 5v14M16 5v14",
  play: "M7 5l12 7-12 7z",
  stop: "M6 6h12v12H6z",
  retry: "M4 12a8 8 0 1 0 2.6-5.9M4 4v4h4",
  reply: "M9 7l-5 5 5 5M4 12h11a5 5 0 0 1 5 5v2",
  send: "M5 12h14M13 6l6 6-6 6",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  download: "M12 4v11M7 11l5 5 5-5M5 20h14",
  external: "M14 4h6v6M20 4l-9 9M18 14v6H4V6h6",
  attach: "M20 11l-8.5 8.5a5 5 0 0 1-7-7L13 4a3.4 3.4 0 0 1 5 5l-8.500 8.5a1.700 1.700 0 0 1-2.500-2.500L14.500 7.500",
  key: "M14 10l7-7M17 6l3 3M9 20a5 5 0 1 0 0-10 5 5 0 0 0 0 10",
  bell: "M6 17V11a6 6 0 1 1 12 0v6l2 1H4zM10 21h4",
  trash: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13",
  edit: "M4 20h4L20 8l-4-4L4 16z",
  filter: "M4 5h16l-6 8v6l-4-2v-4z",
  user: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8M4 21c1-5 4-7 8-7s7 2 8 7",
  star: "M12 3.500l2.600 5.400 5.900.8-4.300 4.100 1 5.900-5.200-2.800-5.200 2.800 1-5.900L3.500 9.700l5.900-.8z",
  warning: "M12 4L2.500 20h19zM12 10v4M12 17h.01",
  logout: "M14 4h5v16h-5M10 8l-4 4 4 4M6 12h9",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth={1.8}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
