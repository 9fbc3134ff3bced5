// The chart: names to the left, bars on a canvas, moved and zoomed by wheel, pointer and keys.
import { type KeyboardEvent, type PointerEvent, useEffect, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "react-router";

import { paths } from "~/ui";
import { type Colours, coloursOf, draw } from "./draw";
import { type Bar, barAt, inOrder, type Row } from "./rows";
import { moved, tickText, ticksOf, type Window, zoomed } from "./scale";
import styles from "./timeline.module.css";

interface ChartProps {
  agent: string;
  rows: readonly Row[];
  limits: Window;
  window: Window;
  now: number;
  isLive: boolean;
  chosen: Bar | null;
  label: string;
  linkOf: (entity: string) => string;
  onWindow: (window: Window) => void;
  onChoose: (bar: Bar | null) => void;
  onHover: (bar: Bar | null) => void;
}

const IN = 0.8;
const SLACK_PIXELS = 2;

export function Chart(props: ChartProps) {
  const { rows, limits, window: shown, now, isLive, chosen } = props;
  const { t } = useTranslation("timeline");
  const canvas = useRef<HTMLCanvasElement>(null);
  const frame = useRef<HTMLDivElement>(null);
  const drag = useRef<{ x: number; window: Window; isMoved: boolean } | null>(null);
  const [hovered, setHovered] = useState<Bar | null>(null);
  const [size, setSize] = useState({ width: 800, height: 400 });
  const [scrolled, setScrolled] = useState(0);
  const colours = useColours(canvas);
  const height = (rows.at(-1)?.top ?? 0) + (rows.at(-1)?.height ?? 0);
  const ticks = useMemo(
    () => ticksOf(shown, limits.from, Math.max(2, Math.floor(size.width / 110))),
    [shown, limits.from, size.width],
  );

  useEffect(() => {
    const element = frame.current;
    if (!element) return;
    const watch = new ResizeObserver(() => {
      const own = canvas.current;
      setSize({ width: own?.clientWidth ?? 0, height: element.clientHeight });
    });
    watch.observe(element);
    return () => watch.disconnect();
  }, []);

  useEffect(() => {
    const own = canvas.current;
    if (!own || !colours || !size.width) return;
    const id = requestAnimationFrame(() =>
      draw(
        own,
        {
          rows,
          window: shown,
          ticks: ticks.map(({ at }) => at),
          now,
          isLive,
          chosen: chosen?.span.id ?? null,
          hovered: hovered?.span.id ?? null,
        },
        colours,
        scrolled,
      ),
    );
    return () => cancelAnimationFrame(id);
  }, [rows, shown, ticks, now, isLive, chosen, hovered, colours, scrolled, size]);

  const perPixel = (shown.to - shown.from) / Math.max(1, size.width);
  const timeAt = (clientX: number) =>
    shown.from + (clientX - (canvas.current?.getBoundingClientRect().left ?? 0)) * perPixel;
  const barUnder = (event: PointerEvent) => {
    const top = canvas.current?.getBoundingClientRect().top ?? 0;
    return barAt(rows, timeAt(event.clientX), event.clientY - top + scrolled, now, SLACK_PIXELS * perPixel);
  };

  const wheel = useRef<(event: WheelEvent) => void>(() => undefined);
  useEffect(() => {
    wheel.current = (event) => {
      const isZoom = event.ctrlKey || event.metaKey;
      const sideways = event.shiftKey ? event.deltaY : event.deltaX;
      if (!isZoom && Math.abs(sideways) < Math.abs(event.deltaY) && !event.shiftKey) return;
      event.preventDefault();
      if (isZoom) props.onWindow(zoomed(shown, timeAt(event.clientX), Math.exp(event.deltaY / 240), limits));
      else props.onWindow(moved(shown, sideways * perPixel, limits));
    };
  });
  useEffect(() => {
    const own = canvas.current;
    const take = (event: WheelEvent) => wheel.current(event);
    own?.addEventListener("wheel", take, { passive: false });
    return () => own?.removeEventListener("wheel", take);
  }, []);

  const onKey = (event: KeyboardEvent) => {
    const length = shown.to - shown.from;
    const middle = (shown.from + shown.to) / 2;
    const all = inOrder(rows);
    const place = all.findIndex((bar) => bar.span.id === chosen?.span.id);
    const choose = (next: Bar | undefined) => {
      if (!next) return;
      props.onChoose(next);
      const isSeen = next.span.start >= shown.from && next.span.start <= shown.to;
      if (!isSeen) props.onWindow(moved(shown, next.span.start - middle, limits));
    };
    const acts: Record<string, () => void> = {
      ArrowRight: () => (event.shiftKey ? props.onWindow(moved(shown, length / 5, limits)) : choose(all[place + 1])),
      ArrowLeft: () => (event.shiftKey ? props.onWindow(moved(shown, -length / 5, limits)) : choose(all[place - 1])),
      "+": () => props.onWindow(zoomed(shown, chosen?.span.start ?? middle, IN, limits)),
      "=": () => props.onWindow(zoomed(shown, chosen?.span.start ?? middle, IN, limits)),
      "-": () => props.onWindow(zoomed(shown, chosen?.span.start ?? middle, 1 / IN, limits)),
      "0": () => props.onWindow(limits),
      Escape: () => props.onChoose(null),
    };
    const act = acts[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  };

  return (
    <div className={styles.chart}>
      <div className={styles.axis} aria-hidden="true">
        {ticks.map(({ at, step }) => (
          <span key={at} style={{ left: `${((at - shown.from) / (shown.to - shown.from)) * 100}%` }}>
            {tickText(at - limits.from, step)}
          </span>
        ))}
      </div>
      <div ref={frame} className={styles.scroll} onScroll={(event) => setScrolled(event.currentTarget.scrollTop)}>
        <div className={styles.names} style={{ height }}>
          {rows.map((row) => (
            <div key={row.entity} className={styles.name} style={{ top: row.top, height: row.height }}>
              <Link to={props.linkOf(row.entity) || paths.agent(props.agent)}>{row.entity}</Link>
            </div>
          ))}
        </div>
        <canvas
          ref={canvas}
          className={styles.canvas}
          style={{ height: Math.max(40, size.height) }}
          tabIndex={0}
          aria-label={`${props.label}. ${t("keys")}`}
          onKeyDown={onKey}
          onPointerDown={(event) => {
            drag.current = { x: event.clientX, window: shown, isMoved: false };
            event.currentTarget.setPointerCapture(event.pointerId);
          }}
          onPointerMove={(event) => {
            const from = drag.current;
            if (from) {
              const by = from.x - event.clientX;
              if (Math.abs(by) > 3) from.isMoved = true;
              if (from.isMoved) props.onWindow(moved(from.window, by * perPixel, limits));
              return;
            }
            const bar = barUnder(event);
            if (bar?.span.id === hovered?.span.id) return;
            setHovered(bar);
            props.onHover(bar);
          }}
          onPointerUp={(event) => {
            if (!drag.current?.isMoved) props.onChoose(barUnder(event));
            drag.current = null;
          }}
          onPointerLeave={() => {
            setHovered(null);
            props.onHover(null);
          }}
        />
      </div>
    </div>
  );
}

/** The colours of the theme; read again when it changes. */
function useColours(canvas: React.RefObject<HTMLCanvasElement | null>): Colours | null {
  const [colours, setColours] = useState<Colours | null>(null);
  useEffect(() => {
    const read = () => {
      if (canvas.current) setColours(coloursOf(canvas.current));
    };
    read();
    const watch = new MutationObserver(read);
    watch.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    return () => watch.disconnect();
  }, [canvas]);
  return colours;
}
