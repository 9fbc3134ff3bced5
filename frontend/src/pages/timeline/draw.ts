// Draws the rows onto a canvas: what is out of sight is left out.
import { type Bar, LINE, type Row, topOf } from "./rows";
import type { Window } from "./scale";

export interface Colours {
  readonly text: string;
  readonly faint: string;
  readonly line: string;
  readonly back: string;
  readonly stripe: string;
  readonly accent: string;
  readonly critical: string;
  readonly font: string;
  readonly kinds: Readonly<Record<string, { back: string; text: string }>>;
}

export interface Drawn {
  readonly rows: readonly Row[];
  readonly window: Window;
  readonly ticks: readonly number[];
  readonly now: number;
  readonly isLive: boolean;
  readonly chosen: string | null;
  readonly hovered: string | null;
}

const THICK = LINE - 4;
const TEXT_FROM = 44;

/** Return the colours that the page has now. */
export function coloursOf(element: Element): Colours {
  const style = getComputedStyle(element);
  const get = (name: string) => style.getPropertyValue(name).trim();
  const kind = (tone: string) => ({ back: get(`--${tone}-soft`), text: get(`--${tone}`) });
  return {
    text: get("--text"),
    faint: get("--text-faint"),
    line: get("--line"),
    back: get("--back"),
    stripe: get("--back-soft"),
    accent: get("--accent"),
    critical: get("--ask"),
    font: style.fontFamily,
    kinds: {
      node: { back: get("--accent-soft"), text: get("--accent") },
      outside: { back: get("--accent-soft"), text: get("--accent") },
      model: kind("busy"),
      tool: kind("good"),
      wait: kind("quiet"),
      human: kind("ask"),
      paused: kind("ask"),
      down: kind("bad"),
    },
  };
}

export function draw(canvas: HTMLCanvasElement, drawn: Drawn, colours: Colours, scrolled: number): void {
  const context = canvas.getContext("2d");
  if (!context) return;
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio);
  if (canvas.height !== Math.round(height * ratio)) canvas.height = Math.round(height * ratio);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  const scale = width / (drawn.window.to - drawn.window.from);
  const x = (at: number) => (at - drawn.window.from) * scale;
  context.font = `500 11px ${colours.font}`;
  context.textBaseline = "middle";
  drawn.rows.forEach((row, place) => {
    if (place % 2) {
      context.fillStyle = colours.stripe;
      context.fillRect(0, row.top - scrolled, width, row.height);
    }
  });
  context.fillStyle = colours.line;
  for (const tick of drawn.ticks) context.fillRect(Math.round(x(tick)), 0, 1, height);
  for (const row of drawn.rows) {
    if (row.top + row.height < scrolled || row.top > scrolled + height) continue;
    for (const bar of row.bars) {
      const left = x(bar.span.start);
      const right = x(bar.span.end ?? drawn.now);
      if (right < 0 || left > width) continue;
      const y = topOf(row, bar) - scrolled + 2;
      drawBar(context, bar, { left, right, y, width }, colours, drawn);
    }
  }
  if (drawn.isLive) {
    context.fillStyle = colours.accent;
    context.fillRect(Math.round(x(drawn.now)), 0, 1.5, height);
  }
}

interface At {
  left: number;
  right: number;
  y: number;
  width: number;
}

function drawBar(context: CanvasRenderingContext2D, { span }: Bar, at: At, colours: Colours, drawn: Drawn): void {
  const looks = span.problem ? colours.kinds["down"] : colours.kinds[span.kind];
  if (!looks) return;
  const left = Math.max(at.left, -8);
  const wide = Math.max(2, Math.min(at.right, at.width + 8) - left);
  context.fillStyle = wide < 6 ? looks.text : looks.back;
  context.beginPath();
  context.roundRect(left, at.y, wide, THICK, Math.min(4, wide / 2));
  context.fill();
  if (wide >= 6) {
    context.fillStyle = looks.text;
    context.fillRect(left, at.y + 1, 2, THICK - 2);
  }
  if (span.is_critical) {
    context.fillStyle = colours.critical;
    context.fillRect(left, at.y + THICK, wide, 2);
  }
  if (span.id === drawn.chosen || span.id === drawn.hovered) {
    context.strokeStyle = colours.accent;
    context.lineWidth = span.id === drawn.chosen ? 2 : 1;
    context.stroke();
  }
  const from = Math.max(left, 0);
  const room = Math.min(at.right, at.width) - from - 12;
  if (room < TEXT_FROM - 12) return;
  context.fillStyle = looks.text;
  context.fillText(fitting(context, span.count > 1 ? `${span.count} × ${span.name}` : span.name, room), from + 7, at.y + THICK / 2 + 0.5);
}

/** Return as much of a text as fits, of its beginning. */
function fitting(context: CanvasRenderingContext2D, text: string, room: number): string {
  const rough = text.slice(0, Math.ceil(room / 4));
  if (context.measureText(rough).width <= room) return rough;
  const most = Math.floor((rough.length * room) / context.measureText(rough).width) - 1;
  return most > 1 ? `${rough.slice(0, most)}…` : "";
}
