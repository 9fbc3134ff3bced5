// All agents of the home: how each stands, what it has spent, and what it wants of the person.
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "react-router";

import { useOverview } from "~/api/queries";
import { Empty, Icon, Loaded, Page, paths, SearchInput, Tabs } from "~/ui";
import { AgentRow } from "./AgentRow";
import styles from "./agents.module.css";
import { Archive } from "./Archive";
import { chosen, type Group, GROUPS, isIn } from "./choice";

type Tab = Group | "archived";

export default function Agents() {
  const { t } = useTranslation("agents");
  const { t: app } = useTranslation("app");
  const teams = useOverview();
  const [tab, setTab] = useState<Tab>("all");
  const [words, setWords] = useState("");
  const all = teams.data ?? [];
  const create = (
    <Link to={paths.newAgent} className={styles.create}>
      <Icon name="plus" />
      {app("newAgent")}
    </Link>
  );

  const list = (group: Group) => {
    const shown = chosen(all, group, words);
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
                <SearchInput label={t("find")} value={words} onText={setWords} />
              </div>
            )}
            <Tabs
              label={t("title")}
              open={tab}
              onOpen={(key) => setTab(key as Tab)}
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
                      {t("noneAbout")}
                    </Empty>
                  ),
                })),
                { key: "archived", label: t("archived"), content: <Archive /> },
              ]}
            />
          </div>
        )}
      </Loaded>
    </Page>
  );
}
