// The Studio of the Agentic Team: give it a task, or look at a session.
import { useTranslation } from "react-i18next";
import { Link, useNavigate, useParams } from "react-router";

import { useCreateAgent } from "~/api/actions";
import { useWhoAmI } from "~/api/access";
import { useTeamSessions } from "~/api/team";
import { Age, Icon, Loaded, Page, Panel, paths, StatusSign } from "~/ui";
import { BLANK, taskOf } from "./draft";
import { Session } from "./Session";
import { TaskFields, useTaskDraft } from "./TaskFields";
import styles from "./team.module.css";
import { Who } from "./Who";

export default function Studio() {
  const { agent } = useParams();
  return agent ? <Session key={agent} named={agent} /> : <Start />;
}

/** A new session: the task, who would do it, and the sessions that there are. */
function Start() {
  const { t } = useTranslation("team");
  const navigate = useNavigate();
  const { data: me } = useWhoAmI();
  const mayStart = me === undefined || me.scope === "control";
  const { draft, put, team } = useTaskDraft();
  const create = useCreateAgent({
    onSuccess: ({ id }) => {
      put({ task: "" });
      void navigate(paths.team(id));
    },
    onError: () => undefined,
  });
  return (
    <Page
      title={t("title")}
      actions={
        <Link to={paths.teamRoles} className={styles.link}>
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
  const { t } = useTranslation("team");
  const sessions = useTeamSessions();
  return (
    <Panel title={t("sessions")}>
      <p className={styles.quiet}>{t("sessionsAbout")}</p>
      <Loaded query={sessions}>
        {(all) =>
          all.length ? (
            <ul className={styles.sessions}>
              {all.toReversed().map((one) => (
                <li key={one.id}>
                  <Link to={paths.team(one.id)} className={styles.session}>
                    <StatusSign status={one.status} />
                    <span className={styles.sessionGoal}>{one.goal}</span>
                    <span className={styles.sessionName}>{one.name}</span>
                    <Age at={one.updated_at} />
                  </Link>
                </li>
              ))}
            </ul>
          ) : (
            <p className={styles.none}>{t("noSessions")}</p>
          )
        }
      </Loaded>
    </Panel>
  );
}
