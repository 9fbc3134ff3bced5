// An agent's events: what happened, as it happens; by type, entity and node; each with an address.
import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";

import { useAgent, useWorkers } from "~/api/queries";
import { useEvents } from "~/live/Live";
import {
  Button,
  Empty,
  ErrorNote,
  formatCount,
  Icon,
  Input,
  Loaded,
  Page,
  Select,
  Skeleton,
  toast,
  useAgentId,
  useQuery,
  VirtualList,
  type VirtualListHandle,
} from "~/ui";
import { asJsonl, type Filter, GROUPS, readFilter } from "./eventList";
import styles from "./events.module.css";
import { OneEvent } from "./OneEvent";
import { readAll, useEventLog } from "./useEventLog";

export default function Events() {
  const { t } = useTranslation("events");
  const agent = useAgentId();
  const [query, set] = useQuery();
  const filter = readFilter(query);
  const view = useAgent(agent);
  return (
    <Page
      title={t("title")}
      isWhole
      actions={<Export agent={agent} filter={filter} />}
    >
      <div className={styles.page}>
        <Filters key={agent} agent={agent} filter={filter} onChange={set} />
        <Loaded query={view} lines={8}>
          {(data) => (
            <List
              key={JSON.stringify(filter)}
              agent={agent}
              last={data.last_event}
              filter={filter}
              at={Number(query.get("at")) || null}
              onAt={(seq) => set({ at: seq === null ? "" : String(seq) })}
            />
          )}
        </Loaded>
      </div>
    </Page>
  );
}

interface FiltersProps {
  agent: string;
  filter: Filter;
  onChange: (values: Partial<Filter>) => void;
}

function Filters({ agent, filter, onChange }: FiltersProps) {
  const { t } = useTranslation("events");
  const { data: workers } = useWorkers(agent);
  const [node, setNode] = useState(filter.node);
  const isGroup = GROUPS.some((group) => filter.type === `${group}.*`);
  const names = ["coordinator", ...(workers?.map((worker) => worker.name) ?? [])];
  return (
    <form
      className={styles.filters}
      onSubmit={(event) => {
        event.preventDefault();
        onChange({ node: node.trim() });
      }}
    >
      <Select
        label={t("type")}
        isLabelUnseen
        value={filter.type}
        onChange={(event) => onChange({ type: event.target.value })}
      >
        <option value="">{t("allTypes")}</option>
        {filter.type && !isGroup && <option value={filter.type}>{filter.type}</option>}
        {GROUPS.map((group) => (
          <option key={group} value={`${group}.*`}>
            {group}
          </option>
        ))}
      </Select>
      <Select
        label={t("entity")}
        isLabelUnseen
        value={filter.entity}
        onChange={(event) => onChange({ entity: event.target.value })}
      >
        <option value="">{t("everyone")}</option>
        {filter.entity && !names.includes(filter.entity) && (
          <option value={filter.entity}>{filter.entity}</option>
        )}
        {names.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </Select>
      <Input
        label={t("node")}
        isLabelUnseen
        placeholder={t("node")}
        value={node}
        onChange={(event) => setNode(event.target.value)}
        onBlur={() => node.trim() !== filter.node && onChange({ node: node.trim() })}
      />
    </form>
  );
}

interface ListProps {
  agent: string;
  last: number;
  filter: Filter;
  at: number | null;
  onAt: (seq: number | null) => void;
}

function List({ agent, last, filter, at, onAt }: ListProps) {
  const { t } = useTranslation("events");
  const newest = useEvents().at(-1)?.seq ?? 0;
  const [opened] = useState(Math.max(last, newest));
  const [from] = useState(at);
  const log = useEventLog(agent, opened, filter, from);
  const list = useRef<VirtualListHandle>(null);
  const [isAtEnd, setAtEnd] = useState(true);
  const seen = useRef(0);
  const isThere = from !== null && log.events.some((event) => event.seq === from);
  useEffect(() => {
    if (isThere && from !== null) list.current?.toKey(from);
  }, [isThere, from]);
  if (isAtEnd) seen.current = log.events.length;
  const fresh = log.events.length - seen.current;
  if (log.isError && !log.data) return <ErrorNote error={log.error} onRetry={() => void log.refetch()} />;
  if (log.isPending) return <Skeleton lines={10} />;
  const more = () => {
    if (log.hasPreviousPage && !log.isFetchingPreviousPage) void log.fetchPreviousPage();
  };
  if (!log.events.length && !log.hasPreviousPage) {
    return (
      <Empty icon="events" title={t("none")}>
        {t("noneAbout")}
      </Empty>
    );
  }
  return (
    <div className={styles.list}>
      <VirtualList
        ref={list}
        rows={log.events}
        rowKey={(event) => event.seq}
        label={t("title")}
        estimate={36}
        isFromEnd={from === null}
        onNearStart={more}
        onAtEnd={setAtEnd}
        role="log"
      >
        {(event) => (
          <OneEvent
            event={event}
            isOpen={event.seq === at}
            onOpen={(isOpen) => onAt(isOpen ? event.seq : null)}
          />
        )}
      </VirtualList>
      {!isAtEnd && (
        <Button className={styles.newer} icon={<Icon name="down" />} onClick={() => list.current?.toEnd()}>
          {fresh > 0 ? t("newer", { count: fresh }) : t("toEnd")}
        </Button>
      )}
    </div>
  );
}

function Export({ agent, filter }: { agent: string; filter: Filter }) {
  const { t } = useTranslation("events");
  const [isBusy, setBusy] = useState(false);
  const save = async () => {
    setBusy(true);
    try {
      const events = await readAll(agent, filter);
      const url = URL.createObjectURL(new Blob([asJsonl(events)], { type: "application/jsonl" }));
      const link = document.createElement("a");
      link.href = url;
      link.download = `${agent}-events.jsonl`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(url), 10_000);
      toast({ title: t("exported", { count: events.length, shown: formatCount(events.length) }), tone: "good" });
    } catch (error) {
      toast({ title: t("notExported"), about: String(error), tone: "bad" });
    } finally {
      setBusy(false);
    }
  };
  return (
    <Button icon={<Icon name="download" />} isBusy={isBusy} onClick={() => void save()}>
      {t("export")}
    </Button>
  );
}
