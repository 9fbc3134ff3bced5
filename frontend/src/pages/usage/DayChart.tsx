// What was spent day by day, as bars. Each can be reached by the keyboard and says its value.
import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";

import { formatCount, formatMoney, formatShortCount, formatShortMoney } from "~/ui";
import { bars, type Day, labelled, type Measure, ticks } from "./days";
import styles from "./usage.module.css";

const HEIGHT = 200;
const LEFT = 56;
const BELOW = 24;
const ABOVE = 8;

const SHORT = { usd: formatShortMoney, tokens: formatShortCount };
const WHOLE = { usd: formatMoney, tokens: formatCount };

export function DayChart({ days, measure }: { days: readonly Day[]; measure: Measure }) {
  const { t, i18n } = useTranslation("usage");
  const [frame, width] = useWidth();
  const [looked, setLooked] = useState<number | null>(null);
  const scale = ticks(Math.max(...days.map((day) => day[measure])));
  const top = scale.at(-1) ?? 1;
  const field = HEIGHT - BELOW - ABOVE;
  const all = bars(days, measure, top, Math.max(0, width - LEFT), field);
  const named = labelled(days.length, Math.max(2, Math.floor((width - LEFT) / 72)));
  const shown = looked === null ? undefined : all[looked];
  const dayName = (day: string) =>
    new Date(`${day}T00:00:00Z`).toLocaleDateString(i18n.language, {
      timeZone: "UTC",
      month: "short",
      day: "numeric",
    });
  const said = (day: Day) => `${dayName(day.day)}: ${WHOLE[measure](day[measure])}`;
  return (
    <div ref={frame} className={styles.chart}>
      <svg width={width} height={HEIGHT} role="group" aria-label={t(`chart_${measure}`)}>
        {scale.map((value) => {
          const y = ABOVE + field - (value / top) * field;
          return (
            <g key={value}>
              <line x1={LEFT} x2={width} y1={y} y2={y} className={styles.grid} />
              <text x={LEFT - 8} y={y + 4} className={styles.tick} textAnchor="end">
                {SHORT[measure](value)}
              </text>
            </g>
          );
        })}
        {all.map((bar, place) => (
          <g
            key={bar.day}
            role="img"
            aria-label={said(bar)}
            tabIndex={bar[measure] ? 0 : -1}
            className={styles.day}
            onMouseEnter={() => setLooked(place)}
            onMouseLeave={() => setLooked(null)}
            onFocus={() => setLooked(place)}
            onBlur={() => setLooked(null)}
          >
            <rect x={LEFT + bar.x} y={ABOVE} width={bar.width} height={field} className={styles.room} />
            <rect
              x={LEFT + bar.x}
              y={ABOVE + field - bar.height}
              width={bar.width}
              height={bar.height}
              rx={Math.min(3, bar.width / 2)}
              className={styles.bar}
            />
            {named.has(place) && (
              <text
                x={LEFT + bar.x + bar.width / 2}
                y={HEIGHT - 6}
                className={styles.tick}
                textAnchor={place === all.length - 1 ? "end" : "middle"}
              >
                {dayName(bar.day)}
              </text>
            )}
          </g>
        ))}
      </svg>
      <p className={styles.looked} aria-hidden="true">
        {shown ? `${said(shown)} · ${t("calls", { count: shown.calls })}` : t("ofUtc")}
      </p>
    </div>
  );
}

function useWidth() {
  const frame = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(640);
  useEffect(() => {
    const element = frame.current;
    if (!element) return;
    const look = () => setWidth(Math.max(240, element.clientWidth));
    look();
    const observer = new ResizeObserver(look);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [frame, width] as const;
}
