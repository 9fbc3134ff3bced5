// The agents that were put away: brought back, or deleted for good.
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { useMay } from "~/api/access";
import { useRestoreAgent } from "~/api/actions";
import type { Schemas } from "~/api/client";
import { useArchive } from "~/api/queries";
import { Delete } from "~/app/AgentMenu";
import { Button, Empty, Loaded, Time, toast } from "~/ui";
import styles from "./agents.module.css";

type Agent = Schemas["AgentView"];

export function Archive() {
  const { t } = useTranslation("agents");
  const archive = useArchive();
  const [leaving, setLeaving] = useState<Agent | null>(null);
  const restore = useRestoreAgent({
    onSuccess: ({ name }) => toast({ title: t("restored", { name }), tone: "good" }),
  });
  const mayControl = useMay("control");
  return (
    <Loaded query={archive}>
      {(agents) =>
        agents.length ? (
          <ul className={styles.list}>
            {agents.map((agent) => (
              <li key={agent.id} className={styles.row}>
                <div className={styles.what}>
                  <h2>{agent.name}</h2>
                  <p className={styles.goal}>{agent.goal}</p>
                  <p className={styles.facts}>
                    <Time at={agent.updated_at} form="full" />
                  </p>
                </div>
                {mayControl && (
                  <div className={styles.acts}>
                    <Button size="s" onClick={() => restore.act(agent.id)} isBusy={restore.isPending}>
                      {t("restore")}
                    </Button>
                    <Button size="s" look="danger" onClick={() => setLeaving(agent)}>
                      {t("delete")}
                    </Button>
                  </div>
                )}
              </li>
            ))}
            {leaving && <Delete agent={leaving} isLive={false} onClose={() => setLeaving(null)} />}
          </ul>
        ) : (
          <Empty icon="folder" title={t("emptyArchive")}>
            {t("emptyArchiveAbout")}
          </Empty>
        )
      }
    </Loaded>
  );
}
