// Who does the work of each role, and what is wrong with it.
import { useTranslation } from "react-i18next";

import type { RoleTeam, RoleView } from "~/api/roles";
import { Badge, Panel, Skeleton } from "~/ui";
import { spoken } from "./tasks";
import { Problems } from "./TaskFields";
import styles from "./roles.module.css";

export function Who({ team }: { team: RoleTeam | undefined }) {
  const { t } = useTranslation("roles");
  if (!team) {
    return (
      <Panel title={t("whoTitle")}>
        <Skeleton lines={5} />
      </Panel>
    );
  }
  return (
    <Panel title={t("whoTitle")}>
      <p className={team.problems.length ? styles.quiet : styles.good} role="status">
        {t(team.problems.length ? "notReady" : "ready")}
      </p>
      {team.problems.length > 0 && <Problems problems={team.problems} />}
      <ul className={styles.roles}>
        {team.roles.map((role) => (
          <OneRole key={role.name} role={role} />
        ))}
      </ul>
    </Panel>
  );
}

function OneRole({ role }: { role: RoleView }) {
  const { t } = useTranslation("roles");
  const about = [
    role.advisory ? t("advisory") : "",
    role.left_out ? t("leftOut", { agent: role.left_out }) : "",
  ].filter(Boolean);
  return (
    <li className={styles.role}>
      <span className={styles.roleName}>
        {spoken(role.name)} {role.is_lead && <Badge tone="accent">{t("lead")}</Badge>}
      </span>
      <span className={styles.roleAgent}>{role.agent || role.model || t("runModel")}</span>
      {about.length > 0 && <span className={styles.roleAbout}>{about.join(" · ")}</span>}
      {role.problem && <span className={styles.roleProblem}>{role.problem}</span>}
    </li>
  );
}
