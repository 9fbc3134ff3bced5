// The last lines of the logs of processes: of one, or of all, from a level on.
import { useDeferredValue, useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";

import { LEVELS, type LogLevel, type LogLine, useLogs } from "~/api/logs";
import { useAgents, useEntities } from "~/api/queries";
import { Button, Check, classes, Icon, Input, Loaded, Panel, saveText, Select, useQuery } from "~/ui";
import styles from "./admin.module.css";

const FIRST = 200;
const MOST = 1000;

export function Logs() {
  const { t } = useTranslation("admin");
  const [query, setQuery] = useQuery();
  const entity = query.get("entity") ?? "";
  const level = LEVELS.find((one) => one === query.get("level")) ?? "info";
  const [limit, setLimit] = useState(FIRST);
  const [follows, setFollows] = useState(true);
  const lines = useLogs(useDeferredValue(entity.trim()), level, limit, follows);
  return (
    <Panel title={t("logs")}>
      <p className={styles.quiet}>{t("logsAbout")}</p>
      <div className={styles.row}>
        <Entity entity={entity} onEntity={(next) => setQuery({ entity: next })} />
        <Select label={t("level")} value={level} onChange={(event) => setQuery({ level: event.target.value as LogLevel })}>
          {LEVELS.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </Select>
        <Check label={t("follow")} checked={follows} onChange={(event) => setFollows(event.target.checked)} />
      </div>
      <Loaded query={lines} lines={10}>
        {(all) =>
          all.length ? (
            <>
              <div className={styles.acts}>
                {all.length >= limit && limit < MOST && (
                  <Button size="s" isBusy={lines.isFetching} onClick={() => setLimit(MOST)}>
                    {t("more")}
                  </Button>
                )}
                <Button size="s" icon={<Icon name="download" />} onClick={() => saveText(all.map(asText).join("\n"), "agiraph.log")}>
                  {t("saveLogs")}
                </Button>
              </div>
              <Lines lines={all} />
            </>
          ) : (
            <p className={styles.quiet}>{t("noLines")}</p>
          )
        }
      </Loaded>
    </Panel>
  );
}

function Entity({ entity, onEntity }: { entity: string; onEntity: (entity: string) => void }) {
  const { t } = useTranslation("admin");
  const { data: entities = [] } = useEntities();
  const { data: agents = [] } = useAgents();
  return (
    <>
      <Input
        label={t("entity")}
        hint={t("entityHint")}
        list="log-entities"
        spellCheck={false}
        value={entity}
        onChange={(event) => onEntity(event.target.value)}
      />
      <datalist id="log-entities">
        {[...agents.map(({ id }) => id), ...entities.map(({ address }) => address)].map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </datalist>
    </>
  );
}

/** The lines, scrolled to the end as long as the person is there. */
function Lines({ lines }: { lines: readonly LogLine[] }) {
  const { t } = useTranslation("admin");
  const frame = useRef<HTMLOListElement>(null);
  const isAtEnd = useRef(true);
  useEffect(() => {
    const list = frame.current;
    if (list && isAtEnd.current) list.scrollTop = list.scrollHeight;
  });
  return (
    <ol
      ref={frame}
      className={styles.log}
      aria-label={t("logs")}
      tabIndex={0}
      onScroll={({ currentTarget: list }) => {
        isAtEnd.current = list.scrollHeight - list.scrollTop - list.clientHeight < 8;
      }}
    >
      {lines.map((line, place) => (
        <li key={`${line.timestamp} ${line.entity} ${place}`} className={classes(styles[line.level])}>
          <span className={styles.stamp}>{line.timestamp.slice(0, 23).replace("T", " ")}</span>{" "}
          <b>{line.level}</b> <span className={styles.entity}>{line.entity}</span> {line.event} {fieldsOf(line)}
          {line.exception && <pre>{line.exception}</pre>}
        </li>
      ))}
    </ol>
  );
}

const fieldsOf = (line: LogLine): string =>
  Object.entries(line.fields)
    .map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(" ");

/** Return a line as `agiraph logs` prints it. */
export const asText = (line: LogLine): string =>
  `${line.timestamp.slice(0, 23)} ${line.level.padEnd(7)} ${line.entity}: ${line.event} ${fieldsOf(line)}`.trimEnd() +
  (line.exception ? `\n${line.exception}` : "");
