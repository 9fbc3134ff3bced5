// An agent with roles: its tasks and their turns, the messages between roles, and the log of one turn.
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Link, useNavigate } from "react-router";

import { useSteerAgent } from "~/api/actions";
import type { Schemas } from "~/api/client";
import { useWhoAmI } from "~/api/access";
import { useAgent, useBoard, useRuns, useWorkers } from "~/api/queries";
import { type RolesRun, useRoleTurns, useStudioAgents } from "~/api/roles";
import {
  Button,
  Confirm,
  Empty,
  Icon,
  Loaded,
  Page,
  paths,
  Select,
  StatusSign,
  Tabs,
  useIsNarrow,
  useKey,
  useQuery,
} from "~/ui";
import { Composer } from "./Composer";
import { Graph } from "./Graph";
import { Handoff } from "./Handoff";
import { attemptsAt, edgesOf, type Pair, rowsOf } from "./tasks";
import styles from "./roles.module.css";
import { Thread } from "./Thread";

type Agent = Schemas["AgentView"];

export function Session({ named }: { named: string }) {
  const { t } = useTranslation("roles");
  const query = useAgent(named);
  if (query.data) return <Known agent={query.data} />;
  return (
    <Page title={t("title")}>
      <Loaded query={query}>{() => null}</Loaded>
    </Page>
  );
}

function Known({ agent }: { agent: Agent }) {
  const { t } = useTranslation("roles");
  const [query] = useQuery();
  const runs = useRuns(agent.id);
  const tasks = (runs.data ?? []).filter((run) => run.has_roles);
  const asked = query.get("run");
  const run = tasks.find((task) => task.id === asked)?.id ?? (agent.has_roles ? agent.run : tasks.at(-1)?.id);
  const team = useRoleTurns(agent.id, Boolean(run), run ?? undefined);
  const { data: me } = useWhoAmI();
  const creator = agent.created_by || "home";
  const isMine = me !== undefined && (me.name === creator || me.name === "home");
  const actions = <Head agent={agent} run={team.data} maySteer={me?.scope === "control" && isMine} />;
  const about = (
    <>
      <span className={styles.ofSession}>{agent.name}</span>
      <StatusSign status={agent.status} hasWord />
      {team.data?.role && agent.run === team.data.run && (
        <span>{t("turnOf", { number: team.data.turns.length + 1, max: team.data.max_turns })}</span>
      )}
    </>
  );
  if (runs.data && !run) {
    return (
      <Page title={t("title")} about={about}>
        <Empty
          icon="team"
          title={t("noTeamTitle")}
          action={<Link to={paths.agent(agent.id)}>{t("conversation")}</Link>}
        >
          {t("noTeamAbout")}
        </Empty>
      </Page>
    );
  }
  return (
    <Page title={t("title")} about={about} actions={actions} isWhole>
      <Loaded query={team} lines={6}>
        {(shown) => (
          <Shown
            agent={agent}
            tasks={tasks}
            run={shown}
            foreign={me && me.name !== creator ? creator : ""}
            maySteer={me?.scope === "control" && isMine}
          />
        )}
      </Loaded>
    </Page>
  );
}

function Head({ agent, run, maySteer }: { agent: Agent; run: RolesRun | undefined; maySteer: boolean }) {
  const { t } = useTranslation("roles");
  const navigate = useNavigate();
  const { data: agents = [] } = useStudioAgents();
  const [isStopping, setStopping] = useState(false);
  const steer = useSteerAgent(agent.id, { onSuccess: () => setStopping(false) });
  const isAtWork = run?.status === "running" && run.run === agent.run;
  const others = agents.some((one) => one.id === agent.id) ? agents : [agent, ...agents];
  return (
    <>
      {others.length > 1 && (
        <Select
          label={t("oneAgent")}
          isLabelUnseen
          value={agent.id}
          onChange={(event) => void navigate(paths.studio(event.target.value))}
        >
          {others.toReversed().map((one) => (
            <option key={one.id} value={one.id}>
              {one.name}
            </option>
          ))}
        </Select>
      )}
      {isAtWork && maySteer && (
        <Button icon={<Icon name="stop" />} onClick={() => setStopping(true)}>
          {t("stop")}
        </Button>
      )}
      <Link to={paths.editRoles} className={styles.link}>
        <Icon name="edit" />
        {t("editRoles")}
      </Link>
      <Link to={paths.studio()} className={styles.link}>
        <Icon name="plus" />
        {t("anotherTask")}
      </Link>
      <Confirm
        isOpen={isStopping}
        onClose={() => setStopping(false)}
        title={t("stopTitle")}
        about={t("stopAbout")}
        act={t("stop")}
        isBusy={steer.isPending}
        onConfirm={() => steer.act("stop")}
      />
    </>
  );
}

interface ShownProps {
  agent: Agent;
  tasks: readonly Schemas["RunView"][];
  run: RolesRun;
  /** The token that created the agent, if it is not the token of this browser. */
  foreign: string;
  maySteer: boolean;
}

function Shown({ agent, tasks, run, foreign, maySteer }: ShownProps) {
  const { t } = useTranslation("roles");
  const isNarrow = useIsNarrow();
  const [query, change] = useQuery();
  const { data: board } = useBoard(agent.id, { run: run.run });
  const { data: workers = [] } = useWorkers(agent.id, run.run);
  const nodes = board?.nodes ?? [];
  const [from, to] = [query.get("from") ?? "", query.get("to") ?? ""];
  const edges = edgesOf(run, from && to ? { from, to } : null);
  const selected: Pair | null = edges.find((edge) => edge.isSelected) ?? null;
  const isAtWork = run.status === "running" && run.role !== "";
  const last = run.turns.length + (isAtWork ? 1 : 0);
  const wanted = Number(query.get("turn")) || 0;
  const rows = rowsOf(run, nodes, selected);
  const atFirst = selected ? (rows.at(-1)?.turn.turn ?? last) : last;
  const turn = wanted >= 1 && wanted <= last ? wanted : atFirst;
  const select = (pair: Pair | null) =>
    change({ from: pair?.from ?? null, to: pair?.to ?? null, turn: null });
  useKey("Escape", t("allTurns"), () => select(null), { isOn: selected !== null });
  const at = attemptsAt(last, nodes).at(-1);
  const worker = isAtWork ? workers.find((one) => one.name === at?.assigned_worker) : undefined;
  const doing = worker && worker.node_id === at?.id ? worker.doing : "";

  const graph = (
    <Graph run={run} edges={edges} workerModel={agent.worker_model} onSelect={select} />
  );
  const log = (
    <Handoff
      agent={agent.id}
      run={run}
      turn={turn}
      isWholeBoard={run.run === agent.run}
      nodes={attemptsAt(turn, nodes)}
      workers={workers}
    />
  );
  const thread = (
    <div className={styles.main}>
      {foreign && <p className={styles.notice}>{t("notYours", { name: foreign })}</p>}
      <Thread
        tasks={tasks}
        run={run}
        rows={rows}
        only={selected}
        doing={doing}
        turn={isNarrow ? 0 : turn}
        workerModel={agent.worker_model}
        onRun={(id) => change({ run: id === agent.run ? null : id, from: null, to: null, turn: null }, true)}
        onTurn={(number) => change({ turn: number === atFirst ? null : String(number), view: "log" })}
        onAll={() => select(null)}
      />
      {maySteer && <Composer agent={agent} tasks={tasks} onStarted={() => change({ run: null, from: null, to: null, turn: null })} />}
    </div>
  );
  if (!isNarrow) {
    return (
      <div className={styles.split}>
        {thread}
        <aside className={styles.side}>
          {graph}
          {log}
        </aside>
      </div>
    );
  }
  return (
    <div className={styles.narrow}>
      <Tabs
        label={t("title")}
        open={query.get("view") ?? "timeline"}
        onOpen={(view) => change({ view: view === "timeline" ? null : view })}
        tabs={[
          { key: "timeline", label: t("timeline"), content: thread },
          { key: "graph", label: t("graph"), content: graph },
          { key: "log", label: t("log"), content: log },
        ]}
      />
    </div>
  );
}
