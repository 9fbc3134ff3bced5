// Deleting agents that ended long ago, as `agiraph prune` does.
import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "react-router";

import { useDeleteAgent } from "~/api/actions";
import { api, type Schemas, take } from "~/api/client";
import { agentsQuery } from "~/api/queries";
import {
  Button, type Column, Confirm, ErrorNote, formatSize, Input, Panel, paths, StatusSign, Table, Time, toast,
} from "~/ui";
import styles from "./admin.module.css";
import { secondsOf } from "~/ui/durations";
import { oldOf } from "./prune";

type Agent = Schemas["AgentView"];

interface Found {
  old: readonly Agent[];
  kept: readonly Agent[];
}

const CURRENT = new Set(["active", "paused"]);

/** Return the old agents, apart from those that a trigger may wake. */
async function find(agents: readonly Agent[], seconds: number): Promise<Found> {
  const all = oldOf(agents, seconds, Date.now() / 1000);
  const triggers = await Promise.all(
    all.map(({ id: agent }) => take(api.GET("/agents/{agent}/triggers", { params: { path: { agent } } }))),
  );
  const isAwaited = (place: number) => triggers[place]?.some(({ status }) => CURRENT.has(status)) ?? true;
  return { old: all.filter((_, place) => !isAwaited(place)), kept: all.filter((_, place) => isAwaited(place)) };
}

export function TidyUp() {
  const { t } = useTranslation("admin");
  const client = useQueryClient();
  const [age, setAge] = useState("30d");
  const [found, setFound] = useState<Found | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [isAsked, setAsked] = useState(false);
  const seconds = secondsOf(age);
  const look = async (longest: number): Promise<Found> => {
    const agents = await client.fetchQuery({ ...agentsQuery, staleTime: 0 });
    return find(agents, longest);
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (seconds === null) return;
    setError(null);
    void look(seconds).then(setFound, setError);
  };
  return (
    <Panel title={t("tidy")}>
      <p className={styles.quiet}>{t("tidyAbout")}</p>
      <form className={styles.row} onSubmit={submit}>
        <Input
          label={t("olderThan")}
          hint={t("olderHint")}
          problem={seconds === null ? t("notDuration") : undefined}
          value={age}
          onChange={(event) => {
            setAge(event.target.value);
            setFound(null);
          }}
        />
        <Button type="submit" disabled={seconds === null}>
          {t("find")}
        </Button>
      </form>
      {error !== null && <ErrorNote error={error} />}
      {found && <Listed found={found} onDelete={() => setAsked(true)} />}
      {found && isAsked && (
        <Ask
          agents={found.old}
          onDone={() => {
            setAsked(false);
            setFound(null);
          }}
          onClose={() => setAsked(false)}
        />
      )}
    </Panel>
  );
}

function Listed({ found: { old, kept }, onDelete }: { found: Found; onDelete: () => void }) {
  const { t } = useTranslation("admin");
  const columns: Column<Agent>[] = [
    { key: "agent", label: t("agent"), cell: (agent) => <Link to={paths.agent(agent.id)}>{agent.name}</Link> },
    { key: "status", label: t("status"), cell: (agent) => <StatusSign status={agent.status} hasWord /> },
    { key: "ended", label: t("ended"), cell: (agent) => <Time at={agent.updated_at} /> },
    { key: "goal", label: t("goal"), isMinor: true, cell: (agent) => agent.goal },
  ];
  return (
    <>
      {kept.length > 0 && <p className={styles.quiet}>{t("kept", { names: kept.map(({ name }) => name).join(", ") })}</p>}
      {old.length ? (
        <>
          <Table label={t("tidy")} columns={columns} rows={old} rowKey={(agent) => agent.id} />
          <p className={styles.acts}>
            <Button look="danger" onClick={onDelete}>
              {t("pruneAll", { count: old.length })}
            </Button>
          </p>
        </>
      ) : (
        <p className={styles.quiet}>{t("nothingOld")}</p>
      )}
    </>
  );
}

interface AskProps {
  agents: readonly Agent[];
  onDone: () => void;
  onClose: () => void;
}

/** Asks with the names of all, then deletes one after the other; one that is at work again stays. */
function Ask({ agents, onDone, onClose }: AskProps) {
  const { t } = useTranslation("admin");
  const [isBusy, setBusy] = useState(false);
  const remove = useDeleteAgent({ onError: () => undefined });
  const prune = async () => {
    setBusy(true);
    let [count, freed] = [0, 0];
    for (const { id, name } of agents) {
      try {
        // It may have been given another goal while the person thought about it.
        const now = await take(api.GET("/agents/{agent}", { params: { path: { agent: id } } }));
        if (!oldOf([now], 0, now.updated_at).length) continue;
        freed += (await remove.actAsync({ agent: id, isLive: true, forget: false })).freed_bytes;
        count += 1;
      } catch (refused) {
        const why = refused instanceof Error ? refused.message : String(refused);
        toast({ title: t("pruneFailed", { name, why }), tone: "bad", seconds: 12 });
      }
    }
    toast({ title: t("pruned", { count, size: formatSize(freed) }), tone: "good" });
    onDone();
  };
  return (
    <Confirm
      isOpen
      onClose={onClose}
      title={t("pruneTitle", { count: agents.length })}
      about={t("pruneAbout", { names: agents.map(({ name }) => name).join(", ") })}
      act={t("pruneAll", { count: agents.length })}
      isBusy={isBusy}
      onConfirm={() => void prune()}
    />
  );
}
