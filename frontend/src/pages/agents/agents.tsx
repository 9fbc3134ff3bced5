// All agents of the home: how each stands, what it has spent, and what it wants of the person.
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "react-router";

import { useMay } from "~/api/access";
import { useModels, useOverview } from "~/api/queries";
import { Empty, Icon, Loaded, Page, paths, SearchInput, Select, Tabs, useQuery } from "~/ui";
import { AgentRow } from "./AgentRow";
import styles from "./agents.module.css";
import { Archive } from "./Archive";
import { AGENT_ORDERS, type AgentOrder, chosen, type Group, GROUPS, isIn } from "./choice";
import { Runs } from "./Runs";

type Tab = Group | "runs" | "archived";
const TABS: readonly Tab[] = [...GROUPS, "runs", "archived"];

export default function Agents() {
  const { t } = useTranslation("agents");
  const { t: app } = useTranslation("app");
  const teams = useOverview();
  const [query, setQuery] = useQuery();
  const tab = TABS.find((one) => one === query.get("show")) ?? "all";
  const order = AGENT_ORDERS.find((one) => one === query.get("by")) ?? "need";
  const [words, setWords] = useState("");
  const all = teams.data ?? [];
  const mayControl = useMay("control");
  const create = mayControl && (
    <Link to={paths.newAgent} className={styles.create}>
      <Icon name="plus" />
      {app("newAgent")}
    </Link>
  );

  const list = (group: Group) => {
    const shown = chosen(all, group, words, order);
    if (!shown.length) {
      return (
        <Empty icon="search" title={t("noMatch")}>
          {t("noMatchAbout")}
        </Empty>
      );
    }
    return (
      <ul className={styles.list}>
        {shown.map((team) => (
          <AgentRow key={team.id} team={team} />
        ))}
      </ul>
    );
  };

  return (
    <Page title={t("title")} actions={all.length > 0 && create}>
      <Loaded query={teams} lines={6}>
        {() => (
          <div className={styles.page}>
            {all.length > 0 && (
              <div className={styles.find}>
                <SearchInput label={t(tab === "runs" ? "findRun" : "find")} value={words} onText={setWords} />
                {tab !== "runs" && tab !== "archived" && (
                  <Select
                    label={t("order")}
                    isLabelUnseen
                    value={order}
                    onChange={(event) => setQuery({ by: event.target.value as AgentOrder })}
                  >
                    {AGENT_ORDERS.map((one) => (
                      <option key={one} value={one}>
                        {t(`order_${one}`)}
                      </option>
                    ))}
                  </Select>
                )}
              </div>
            )}
            <Tabs
              label={t("title")}
              open={tab}
              onOpen={(key) => setQuery({ show: key === "all" ? "" : key })}
              tabs={[
                ...GROUPS.map((group) => ({
                  key: group,
                  label: (
                    <>
                      {t(group)}{" "}
                      <span className={styles.count}>
                        {all.filter((team) => isIn(group, team)).length}
                      </span>
                    </>
                  ),
                  content: all.length ? list(group) : (
                    <Empty icon="star" title={t("none")} action={create}>
                      {t("noneAbout")} <FirstStart />
                    </Empty>
                  ),
                })),
                { key: "runs", label: t("runs"), content: <Runs words={words} /> },
                { key: "archived", label: t("archived"), content: <Archive /> },
              ]}
            />
          </div>
        )}
      </Loaded>
    </Page>
  );
}

/** Leads to the models where there is none yet. */
function FirstStart() {
  const { t } = useTranslation("agents");
  const { data } = useModels();
  if (!data || data.default !== null) return null;
  return <Link to={paths.admin("models")}>{t("firstStart")}</Link>;
}
