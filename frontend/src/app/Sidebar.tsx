// The sidebar: every agent as a group that opens, with all who belong to it.
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Link, NavLink, useMatch } from "react-router";

import { useMay } from "~/api/access";
import { useInbox, useOverview } from "~/api/queries";
import { Icon, Loaded, paths } from "~/ui";
import { homePages } from "~/ui/paths";
import { AgentGroup } from "./AgentGroup";
import { isOpenAtFirst, keptOpen, keepOpen, newestFirst } from "./groups";
import styles from "./Sidebar.module.css";

export function Sidebar() {
  const { t } = useTranslation("app");
  const teams = useOverview();
  const { data: inbox = [] } = useInbox();
  const shown = useMatch("/agents/:agent/*")?.params.agent ?? "";
  const mayControl = useMay("control");
  const [open, setOpen] = useState(keptOpen);
  const toggle = (id: string, isOpen: boolean) => {
    const next = { ...open, [id]: isOpen };
    setOpen(next);
    keepOpen(next);
  };
  return (
    <nav className={styles.sidebar} aria-label={t("sidebar")}>
      <div className={styles.top}>
        <Link to={paths.home} className={styles.brand}>
          <img src={`${import.meta.env.BASE_URL}icon.svg`} alt="" width={24} height={24} />
          {t("name")}
        </Link>
      </div>
      {mayControl && (
        <Link to={paths.newAgent} className={styles.create}>
          <Icon name="plus" />
          {t("newAgent")}
        </Link>
      )}
      <div className={styles.groups}>
        <Loaded query={teams} lines={4}>
          {(all) =>
            all.length ? (
              newestFirst(all).map((team, place) => {
                const isShown = shown === team.id || shown === team.name;
                return (
                  <AgentGroup
                    key={team.id}
                    team={team}
                    unread={inbox.find((one) => one.agent === team.id)?.by_entity ?? {}}
                    isOpen={open[team.id] ?? isOpenAtFirst(team.status, isShown, place)}
                    onToggle={(isOpen) => toggle(team.id, isOpen)}
                  />
                );
              })
            ) : (
              <p className={styles.none}>{t("noAgents")}</p>
            )
          }
        </Loaded>
      </div>
      <ul className={styles.bottom}>
        {homePages(mayControl).map(([name, icon, path]) => (
          <li key={name}>
            <NavLink to={path} className={styles.page}>
              <Icon name={icon} />
              {t(name)}
            </NavLink>
          </li>
        ))}
      </ul>
    </nav>
  );
}
