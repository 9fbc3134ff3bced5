// The timeline of a run: who did what when, where time went, and what the run waited for.
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { useSearchParams } from "react-router";

import { useWorkers } from "~/api/queries";
import { type Timeline as View, useTimeline } from "~/api/watching";
import { Button, Duration, Empty, Icon, IconButton, Loaded, Page, paths, useAgentId, useIsNarrow, useNow } from "~/ui";
import { Chart } from "./Chart";
import { Details } from "./Details";
import { type Bar, type Kind, rowsOf } from "./rows";
import { type Window, zoomed } from "./scale";
import { SpanTable } from "./SpanTable";
import styles from "./timeline.module.css";

const KINDS: readonly Kind[] = ["node", "model", "tool", "wait", "human", "paused", "down"];
const BARS_WIDE = 1500;

export default function Timeline() {
  const { t } = useTranslation("timeline");
  const agent = useAgentId();
  const query = useTimeline(agent);
  return (
    <Page title={t("title")} isWhole>
      <Loaded query={query} lines={8}>
        {(view) =>
          view.start === null || !view.spans.length ? (
            <Empty icon="timeline" title={t("emptyTitle")}>
              {t("emptyAbout")}
            </Empty>
          ) : (
            <Shown key={view.run} agent={agent} view={view} start={view.start} />
          )
        }
      </Loaded>
    </Page>
  );
}

function Shown({ agent, view, start }: { agent: string; view: View; start: number }) {
  const { t } = useTranslation("timeline");
  const clock = useNow();
  const isLive = view.end === null;
  const last = Math.max(start, ...view.spans.map((span) => span.end ?? span.start));
  const now = Math.max(view.end ?? clock, last);
  const limits = useMemo<Window>(() => ({ from: start, to: Math.max(now, start + 1) }), [start, now]);
  // Nobody has zoomed: all is shown, and grows as it goes on.
  const [wanted, setWanted] = useState<Window | null>(null);
  const shown = wanted ?? limits;
  const [chosen, setChosen] = useState<Bar | null>(null);
  const [hovered, setHovered] = useState<Bar | null>(null);
  const [params, setParams] = useSearchParams();
  const isNarrow = useIsNarrow();
  const as = params.get("view") ?? (isNarrow ? "table" : "chart");
  const spans = useDetail(agent, view, shown, limits);
  const rows = useMemo(() => rowsOf(view.entities, spans, now), [view.entities, spans, now]);
  const { data: workers } = useWorkers(agent);
  const linkOf = (entity: string) => {
    const worker = workers?.find((one) => one.name === entity);
    return worker ? paths.worker(agent, worker.id) : "";
  };
  const show = (window: Window) =>
    setWanted(window.to - window.from >= (limits.to - limits.from) * 0.999 ? null : window);
  const zoom = (factor: number) => show(zoomed(shown, (shown.from + shown.to) / 2, factor, limits));
  const critical = view.critical.reduce((sum, one) => sum + one.end - one.start, 0);
  return (
    <div className={styles.timeline}>
      <div className={styles.toolbar} role="toolbar" aria-label={t("tools")}>
        <ul className={styles.legend} aria-label={t("legend")}>
          {KINDS.map((kind) => (
            <li key={kind} className={styles[kind]}>
              <span aria-hidden="true" />
              {t(`kind_${kind}`)}
            </li>
          ))}
          <li className={styles.critical}>
            <span aria-hidden="true" />
            {t("critical")} {critical > 0 && <Duration seconds={critical} />}
          </li>
        </ul>
        <div className={styles.buttons}>
          {as === "chart" && (
            <>
              <IconButton label={t("zoomIn")} icon={<Icon name="plus" />} onClick={() => zoom(0.6)} />
              <IconButton label={t("zoomOut")} icon={<Icon name="minus" />} onClick={() => zoom(1 / 0.6)} />
              <IconButton label={t("fit")} icon={<Icon name="fit" />} onClick={() => setWanted(null)} />
            </>
          )}
          <Button
            look="bare"
            size="s"
            icon={<Icon name="table" />}
            aria-pressed={as === "table"}
            onClick={() => setParams({ view: as === "table" ? "chart" : "table" }, { replace: true })}
          >
            {t("table")}
          </Button>
        </div>
      </div>
      {as === "table" ? (
        <SpanTable agent={agent} spans={view.spans} start={start} now={now} />
      ) : (
        <>
          <Chart
            {...{ agent, rows, limits, now, isLive, chosen, linkOf }}
            window={shown}
            label={t("label", { count: spans.length })}
            onWindow={show}
            onChoose={setChosen}
            onHover={setHovered}
          />
          <Details agent={agent} bar={hovered ?? chosen} start={start} now={now} />
        </>
      )}
    </div>
  );
}

/** The bars of what is shown: once one looks closer, those at that resolution. */
function useDetail(agent: string, view: View, shown: Window, limits: Window) {
  const length = shown.to - shown.from;
  const isClose = view.resolution_seconds > 0 && length < (limits.to - limits.from) * 0.6;
  const step = 2 ** Math.floor(Math.log2(length / 2));
  const since = Math.floor(shown.from / step) * step;
  const until = Math.ceil(shown.to / step) * step;
  const close = useTimeline(
    agent,
    { since, until, resolution_seconds: (until - since) / BARS_WIDE },
    isClose,
  );
  return isClose && close.data && !close.isPlaceholderData ? close.data.spans : view.spans;
}
