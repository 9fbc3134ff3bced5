// The bars: each a button, so that they are reached by keys; names stay in view while one scrolls.
import { type CSSProperties, useMemo } from "react";
import { useTranslation } from "react-i18next";

import { classes, formatSeconds } from "~/ui";
import { type Bar, formatTick, layout, nextSpan, ROW, type Span, ticksOf, type Timeline } from "./lanes";
import styles from "./timeline.module.css";

const idOf = (span: Span) => `span-${span.id}`;

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
    <div className={styles.frame}>
      <div className={styles.names} aria-hidden="true">
        <div className={styles.corner} />
        {lanes.map((lane) => (
          <div key={lane.entity} className={styles.name} style={{ height: lane.height }} title={lane.entity}>
            {lane.entity}
          </div>
        ))}
      </div>
      <div className={styles.time} style={{ "--zoom": zoom } as CSSProperties}>
        <div className={styles.ticks} aria-hidden="true">
          {ticks.map((tick) => (
            <span key={tick} style={{ left: `${(tick / seconds) * 100}%` }}>
              {formatTick(tick)}
            </span>
          ))}
        </div>
        <div
          className={styles.lanes}
          style={{ height }}
          role="listbox"
          tabIndex={0}
          aria-label={t("label")}
          aria-activedescendant={chosen ? idOf(chosen) : undefined}
          onKeyDown={(event) => {
            const next = nextSpan(lanes, chosen, event.key);
            if (!next) return;
            event.preventDefault();
            onChoose(next);
          }}
        >
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
    // The keys are those of the list: the target of a short bar would be too small.
    // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/interactive-supports-focus
    <div
      id={idOf(span)}
      role="option"
      className={classes(
        styles.bar,
        styles[span.kind],
        span.is_critical && styles.isCritical,
        span.problem && styles.hasProblem,
        span.end === null && styles.lasts,
      )}
      style={{ left: `${left * 100}%`, width: `max(3px, ${width * 100}%)`, top, height: ROW }}
      aria-label={said}
      aria-selected={isChosen}
      title={said}
      onClick={() => onChoose(span)}
    >
      <span aria-hidden="true">{span.count > 1 ? `${span.name} ×${span.count}` : span.name}</span>
    </div>
  );
}
