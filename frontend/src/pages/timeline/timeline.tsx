// The timeline of a run: a line for each entity, with what it did when, and the critical path.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";

import { api, take } from "~/api/client";
import { ofAgent } from "~/api/keys";
import { Button, Empty, Icon, IconButton, Loaded, Page, useAgentId, useKey, useNow } from "~/ui";
import { Chart } from "./Chart";
import { Critical, SpanTable } from "./Critical";
import { type Span, type Timeline } from "./lanes";
import { Chosen, Legend } from "./Legend";
import styles from "./timeline.module.css";

const MOST_ZOOM = 64;

export default function TimelinePage() {
  const { t } = useTranslation("timeline");
  const agent = useAgentId();
  const [zoom, setZoom] = useState(1);
  const [isTable, setTable] = useState(false);
  const query = useQuery({
    queryKey: ofAgent(agent, "timeline"),
    queryFn: ({ signal }) =>
      take(api.GET("/agents/{agent}/timeline", { params: { path: { agent } }, signal })),
    placeholderData: keepPreviousData,
  });
  const by = (factor: number) => setZoom((known) => Math.min(MOST_ZOOM, Math.max(1, known * factor)));
  useKey("+", t("zoomIn"), () => by(2));
  useKey("-", t("zoomOut"), () => by(0.5));
  useKey("0", t("whole"), () => setZoom(1));
  return (
    <Page
      title={t("title")}
      actions={
        <>
          <Button size="s" aria-pressed={isTable} onClick={() => setTable(!isTable)}>
            {t("table")}
          </Button>
          <IconButton size="s" label={t("zoomOut")} icon={<span>−</span>} disabled={zoom === 1} onClick={() => by(0.5)} />
          <IconButton size="s" label={t("zoomIn")} icon={<Icon name="plus" />} disabled={zoom >= MOST_ZOOM} onClick={() => by(2)} />
          <Button size="s" onClick={() => setZoom(1)}>
            {t("whole")}
          </Button>
        </>
      }
    >
      <Loaded query={query} lines={8}>
        {(timeline) =>
          timeline.spans.length ? (
            <Whole agent={agent} timeline={timeline} zoom={zoom} isTable={isTable} />
          ) : (
            <Empty icon="timeline" title={t("nothing")}>
              {t("nothingAbout")}
            </Empty>
          )
        }
      </Loaded>
    </Page>
  );
}

interface WholeProps {
  agent: string;
  timeline: Timeline;
  zoom: number;
  isTable: boolean;
}

function Whole({ agent, timeline, zoom, isTable }: WholeProps) {
  const [chosen, setChosen] = useState<Span | null>(null);
  const present = useNow(timeline.end === null ? 1 : 3600);
  const now = timeline.end ?? present;
  const shown = useMemo(
    () => timeline.spans.find((span) => span.id === chosen?.id) ?? chosen,
    [timeline, chosen],
  );
  return (
    <div className={styles.whole}>
      <Legend />
      {isTable ? (
        <SpanTable timeline={timeline} />
      ) : (
        <Chart timeline={timeline} now={now} zoom={zoom} chosen={shown} onChoose={setChosen} />
      )}
      {shown && <Chosen agent={agent} span={shown} onClose={() => setChosen(null)} />}
      <Critical agent={agent} timeline={timeline} />
    </div>
  );
}
