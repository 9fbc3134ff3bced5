// What a browser calls itself, in short. Pure.

const NAMES = [
  [/Edg\/(\d+)/, "Edge"],
  [/OPR\/(\d+)/, "Opera"],
  [/Firefox\/(\d+)/, "Firefox"],
  [/(?:HeadlessChrome|Chrome|CriOS)\/(\d+)/, "Chrome"],
  [/Version\/(\d+)[^ ]* .*Safari/, "Safari"],
] as const;
const SYSTEMS = [
  [/Windows/, "Windows"],
  [/iPhone|iPad/, "iOS"],
  [/Mac OS X/, "macOS"],
  [/Android/, "Android"],
  [/Linux|X11/, "Linux"],
] as const;

/** Return name, version and system of a browser by its User-Agent; an unknown one as it is. */
export function browserName(agent: string): string {
  const found = NAMES.map(([sign, name]) => [sign.exec(agent)?.[1], name] as const).find(([version]) => version);
  const system = SYSTEMS.find(([sign]) => sign.test(agent))?.[1];
  if (!found) return agent.slice(0, 60);
  return `${found[1]} ${found[0]}${system ? `, ${system}` : ""}`;
}
