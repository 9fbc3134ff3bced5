// The bars: each a button, so that they are reached by keys; names stay in view while one scrolls.
import { useMemo } from "react";
import { useTranslation } from "react-i18next";

import { classes, formatSeconds } from "~/ui";
import { type Bar, formatTick, layout, ROW, type Span, ticksOf, type Timeline } from "./lanes";
import styles from "./timeline.module.css";

interface ChartProps {
  timeline: Timeline;
  now: number;
  zoom: number;
  chosen: Span | null;
  onChoose: (span: Span) => void;
}

export function Chart({ timeline, now, zoom, chosen, onChoose }: ChartProps) {
  const { t } = useTranslation("timeline");
  const { lanes, height, seconds } = useMemo(() => layout(timeline, now), [timeline, now]);
  const ticks = ticksOf(seconds, 8 * zoom);
  return (
    <div className={styles.frame} role="region" aria-label={t("label")} tabIndex={0}>
      <div className={styles.names}>
        <div className={styles.corner} />
        {lanes.map((lane) => (
          <div key={lane.entity} className={styles.name} style={{ height: lane.height }} title={lane.entity}>
            {lane.entity}
          </div>
        ))}
      </div>
      <div className={styles.time} style={{ width: `${zoom * 100}%` }}>
        <div className={styles.ticks} aria-hidden="true">
          {ticks.map((tick) => (
            <span key={tick} style={{ left: `${(tick / seconds) * 100}%` }}>
              {formatTick(tick)}
            </span>
          ))}
        </div>
        <div className={styles.lanes} style={{ height }}>
          {ticks.map((tick) => (
            <i key={tick} className={styles.line} style={{ left: `${(tick / seconds) * 100}%` }} />
          ))}
          {lanes.map((lane) => (
            <div key={lane.entity} role="group" aria-label={lane.entity}>
              <i className={styles.floor} style={{ top: lane.top + lane.height - 1 }} />
              {lane.bars.map((bar) => (
                <OneBar
                  key={bar.span.id}
                  bar={bar}
                  isChosen={chosen?.id === bar.span.id}
                  onChoose={onChoose}
                />
              ))}
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}

interface OneBarProps {
  bar: Bar;
  isChosen: boolean;
  onChoose: (span: Span) => void;
}

function OneBar({ bar, isChosen, onChoose }: OneBarProps) {
  const { t } = useTranslation("timeline");
  const { span, left, width, top } = bar;
  const said = `${t(`kind.${span.kind}`)} ${span.name}, ${formatSeconds(span.seconds)}`;
  return (
    <button
      type="button"
      className={classes(
        styles.bar,
        styles[span.kind],
        span.is_critical && styles.isCritical,
        span.problem && styles.hasProblem,
        span.end === null && styles.lasts,
      )}
      style={{ left: `${left * 100}%`, width: `max(3px, ${width * 100}%)`, top, height: ROW }}
      aria-label={said}
      aria-pressed={isChosen}
      title={said}
      onClick={() => onChoose(span)}
    >
      <span aria-hidden="true">{span.count > 1 ? `${span.name} ×${span.count}` : span.name}</span>
    </button>
  );
}
