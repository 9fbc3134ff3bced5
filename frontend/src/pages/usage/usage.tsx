// Tokens and money: by day as bars, by agent, entity, stage or model as rows, and the budgets.
import { type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";

import type { Schemas } from "~/api/client";
import { type UsageBy, useAgents, useUsage } from "~/api/queries";
import {
  type Column,
  ErrorNote,
  formatCount,
  formatMoney,
  formatShortCount,
  Loaded,
  markEstimate,
  Page,
  Panel,
  Select,
  Table,
  Tabs,
  useQuery,
} from "~/ui";
import { Budgets } from "./Budgets";
import { DayChart } from "./DayChart";
import { lastDays, type Measure, tokensOf, type UsageRow } from "./days";
import styles from "./usage.module.css";

const ALL_RUNS = "*";
const DAYS = 30;
const OF_HOME = ["agent", "entity", "model", "trigger"] as const;
const OF_AGENT = ["entity", "stage", "node", "model", "trigger"] as const;

export default function Usage() {
  const { t } = useTranslation("usage");
  const [query, set] = useQuery();
  const agents = useAgents();
  const agent = query.get("agent") ?? undefined;
  const choices: readonly UsageBy[] = agent ? OF_AGENT : OF_HOME;
  const asked = query.get("by") as UsageBy | null;
  const by = asked && choices.includes(asked) ? asked : (choices[0] ?? "entity");
  const whose = agent ? { agent, run: ALL_RUNS } : {};
  return (
    <Page
      title={t("title")}
      actions={
        <Select
          label={t("agent")}
          isLabelUnseen
          value={agent ?? ""}
          onChange={(event) => set({ agent: event.target.value, by: "" })}
        >
          <option value="">{t("allAgents")}</option>
          {agents.data?.map((one) => (
            <option key={one.id} value={one.id}>
              {one.name}
            </option>
          ))}
        </Select>
      }
    >
      <Sums whose={whose} />
      <Panel title={t("byWhat")}>
        <Tabs
          label={t("byWhat")}
          open={by}
          onOpen={(key) => set({ by: key })}
          tabs={choices.map((one) => ({
            key: one,
            label: t(`by_${one as (typeof OF_AGENT)[number] | "agent"}`),
            content: one === by ? <Rows whose={whose} by={by} /> : null,
          }))}
        />
      </Panel>
      <Budgets agent={agent} agents={agents.data ?? []} />
    </Page>
  );
}

type Whose = { agent?: string; run?: string };

function Sums({ whose }: { whose: Whose }) {
  const { t } = useTranslation("usage");
  const query = useUsage({ ...whose, by: "day" });
  const [measure, setMeasure] = useState<Measure>("usd");
  return (
    <Loaded query={query} lines={6}>
      {({ total, rows }) => {
        const days = lastDays(rows, Date.now() / 1000, DAYS);
        const today = days.at(-1);
        return (
          <>
            {query.error && <ErrorNote error={query.error} />}
            <div className={styles.tiles}>
              <Tile label={t("spent")} more={total.is_estimate ? t("estimate") : undefined}>
                {total.cost_usd === null
                  ? t("noPrice")
                  : markEstimate(formatMoney(total.cost_usd), total.is_estimate)}
              </Tile>
              <Tile label={t("today")}>
                {markEstimate(formatMoney(today?.usd ?? 0), today?.isEstimate)}
              </Tile>
              <Tile label={t("input")} more={t("cached", { part: share(total) })}>
                {markEstimate(formatShortCount(total.input_tokens), total.is_estimate)}
              </Tile>
              <Tile label={t("output")}>
                {markEstimate(formatShortCount(total.output_tokens), total.is_estimate)}
              </Tile>
            </div>
            <Panel
              title={t("byDay")}
              actions={
                <Select
                  label={t("measure")}
                  isLabelUnseen
                  value={measure}
                  onChange={(event) => setMeasure(event.target.value as Measure)}
                >
                  <option value="usd">{t("dollars")}</option>
                  <option value="tokens">{t("tokens")}</option>
                </Select>
              }
            >
              <DayChart days={days} measure={measure} />
            </Panel>
          </>
        );
      }}
    </Loaded>
  );
}

const share = (usage: Schemas["Usage"]) =>
  usage.input_tokens ? Math.round((usage.cache_read_tokens / usage.input_tokens) * 100) : 0;

interface TileProps {
  label: string;
  more?: string | undefined;
  children: ReactNode;
}

const Tile = ({ label, more, children }: TileProps) => (
  <div className={styles.tile}>
    <span className={styles.tileLabel}>{label}</span>
    <strong>{children}</strong>
    {more && <span className={styles.tileMore}>{more}</span>}
  </div>
);

function Rows({ whose, by }: { whose: Whose; by: UsageBy }) {
  const { t } = useTranslation("usage");
  const query = useUsage({ ...whose, by });
  const rows = query.data?.by === by ? query.data.rows.toSorted(dearest) : [];
  const columns = useColumns(by, Math.max(...rows.map(weight), 0));
  return (
    <Loaded query={query}>
      {() =>
        rows.length ? (
          <Table
            label={t("byWhat")}
            columns={columns}
            rows={rows}
            rowKey={(row) => `${row.run} ${row.key}`}
          />
        ) : (
          <p className={styles.none}>{t("nothingAbout")}</p>
        )
      }
    </Loaded>
  );
}

function useColumns(by: UsageBy, most: number): Column<UsageRow>[] {
  const { t } = useTranslation("usage");
  const nameless = by === "stage" ? t("noStage") : by === "node" ? t("noNode") : t("noTrigger");
  const count = (key: "input" | "output", of: (usage: UsageRow["usage"]) => number): Column<UsageRow> => ({
    key,
    label: t(key),
    isNumber: true,
    isMinor: true,
    cell: (row) => markEstimate(formatCount(of(row.usage)), row.usage.is_estimate),
  });
  return [
    { key: "name", label: t(`by_${by as "agent"}`), cell: (row) => row.name || row.key || nameless },
    {
      key: "share",
      label: <span className="unseen">{t("share")}</span>,
      isMinor: true,
      cell: (row) => (
        <progress className={styles.share} max={most || 1} value={weight(row)} aria-hidden />
      ),
    },
    { key: "calls", label: t("callsHead"), isNumber: true, isMinor: true, cell: (row) => formatCount(row.calls) },
    count("input", (usage) => usage.input_tokens),
    count("output", (usage) => usage.output_tokens),
    { key: "tokens", label: t("tokens"), isNumber: true, cell: (row) => markEstimate(formatShortCount(tokensOf(row.usage)), row.usage.is_estimate) },
    { key: "cost", label: t("cost"), isNumber: true, cell: (row) => markEstimate(formatMoney(row.usage.cost_usd), row.usage.is_estimate) },
  ];
}

const weight = (row: UsageRow) => row.usage.cost_usd ?? 0;
const dearest = (one: UsageRow, other: UsageRow) =>
  weight(other) - weight(one) || tokensOf(other.usage) - tokensOf(one.usage);
