// What a worker did last, from the log and as it comes.
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { Link } from "react-router";

import { api, type Schemas, take } from "~/api/client";
import { ofAgent } from "~/api/keys";
import { useAgent } from "~/api/queries";
import { withEvents } from "~/live/eventLog";
import { useEventText } from "~/live/eventText";
import { useEvents } from "~/live/Live";
import { Age, Loaded, Panel, paths } from "~/ui";
import styles from "./worker.module.css";

const BACK = 600;
const SHOWN = 40;

export function Activity({ agent, worker }: { agent: string; worker: Schemas["WorkerView"] }) {
  const entity = worker.name;
  const { t } = useTranslation("worker");
  const { data: view } = useAgent(agent);
  const live = useEvents();
  const { line } = useEventText();
  const known = view !== undefined;
  const past = useQuery({
    queryKey: ofAgent(agent, "events", "of", entity),
    enabled: known,
    staleTime: Infinity,
    queryFn: ({ signal }) =>
      take(
        api.GET("/agents/{agent}/events", {
          params: {
            path: { agent },
            query: { after: Math.max(0, (view?.last_event ?? 0) - BACK), limit: 1000, entity },
          },
          signal,
        }),
      ) as Promise<Schemas["EventPageView"]>,
  });
  return (
    <Panel title={t("activity")} actions={<Link to={paths.events(agent)}>{t("allEvents")}</Link>}>
      <Loaded query={past}>
        {({ events }) => {
          const came = live.filter(
            (event) => event.entity === entity || event.entity === worker.address,
          );
          const shown = withEvents(events, came).slice(-SHOWN).toReversed();
          if (!shown.length) return <p className={styles.quiet}>{t("noActivity")}</p>;
          return (
            <ol className={styles.activity} tabIndex={0} aria-label={t("activity")}>
              {shown.map((event) => (
                <li key={event.seq}>
                  <span className={styles.quiet}>
                    <Age at={event.ts} />
                  </span>
                  <span>
                    <code>{event.type}</code> {line(event)}
                  </span>
                </li>
              ))}
            </ol>
          );
        }}
      </Loaded>
    </Panel>
  );
}
