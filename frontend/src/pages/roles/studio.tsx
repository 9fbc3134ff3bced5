// The Studio of the Agentic Team: give it a task, or view an agent that works with roles.
import { useTranslation } from "react-i18next";
import { Link, useNavigate, useParams } from "react-router";

import { useCreateAgent } from "~/api/actions";
import { useWhoAmI } from "~/api/access";
import { useStudioAgents } from "~/api/roles";
import { Age, Icon, Loaded, Page, Panel, paths, StatusSign } from "~/ui";
import { BLANK, taskOf } from "./draft";
import { Session } from "./StudioAgent";
import { TaskFields, useTaskDraft } from "./TaskFields";
import styles from "./roles.module.css";
import { Who } from "./Who";

export default function Studio() {
  const { agent } = useParams();
  return agent ? <Session key={agent} named={agent} /> : <Start />;
}

/** A new task, the roles that would do it, and the existing agents. */
function Start() {
  const { t } = useTranslation("roles");
  const navigate = useNavigate();
  const { data: me } = useWhoAmI();
  const mayStart = me === undefined || me.scope === "control";
  const { draft, put, team } = useTaskDraft();
  const create = useCreateAgent({
    onSuccess: ({ id }) => {
      put({ task: "" });
      void navigate(paths.studio(id));
    },
    onError: () => undefined,
  });
  return (
    <Page
      title={t("title")}
      actions={
        <Link to={paths.editRoles} className={styles.link}>
          <Icon name="edit" />
          {t("editRoles")}
        </Link>
      }
    >
      <div className={styles.start}>
        <div className={styles.startMain}>
          <p className={styles.quiet}>{t("about")}</p>
          {mayStart ? (
            <TaskFields
              label={t("task")}
              draft={draft}
              put={put}
              team={team}
              isNew
              error={create.error}
              isBusy={create.isPending || create.isSuccess}
              onStart={() => create.act({ ...taskOf(draft), mode: "finite" })}
              onClear={() => put(BLANK)}
            />
          ) : (
            <p className={styles.notice}>{t("mayOnlyLook")}</p>
          )}
          <Sessions />
        </div>
        <aside className={styles.startSide} aria-label={t("whoTitle")}>
          <Who team={team} />
        </aside>
      </div>
    </Page>
  );
}

function Sessions() {
  const { t } = useTranslation("roles");
  const agents = useStudioAgents();
  return (
    <Panel title={t("agents")}>
      <p className={styles.quiet}>{t("agentsAbout")}</p>
      <Loaded query={agents}>
        {(all) =>
          all.length ? (
            <ul className={styles.agents}>
              {all.toReversed().map((one) => (
                <li key={one.id}>
                  <Link to={paths.studio(one.id)} className={styles.agent}>
                    <StatusSign status={one.status} />
                    <span className={styles.agentGoal}>{one.goal}</span>
                    <span className={styles.agentName}>{one.name}</span>
                    <Age at={one.updated_at} />
                  </Link>
                </li>
              ))}
            </ul>
          ) : (
            <p className={styles.none}>{t("noAgents")}</p>
          )
        }
      </Loaded>
    </Panel>
  );
}
