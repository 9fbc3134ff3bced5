// Above the conversation: how the entity stands, what is shown, ways to more.
import { useTranslation } from "react-i18next";
import { useNavigate } from "react-router";

import type { Schemas } from "~/api/client";
import { useSaveTranscript } from "~/app/AgentMenu";
import { classes, Icon, IconButton, lastPart, paths, StatusSign } from "~/ui";
import styles from "./Head.module.css";

interface AboutProps {
  view: Schemas["AgentView"];
  worker: Schemas["WorkerView"] | undefined;
}

export function About({ view, worker }: AboutProps) {
  const { t } = useTranslation("conversation");
  const doing = worker ? worker.doing || worker.step : view.doing;
  const model = worker ? worker.model : view.model;
  return (
    <>
      <StatusSign status={worker?.status ?? view.status} hasWord />
      {worker?.role && <span>{worker.role}</span>}
      {model && <span title={model}>{lastPart(model)}</span>}
      {worker?.node && <span>{t("onNode", { node: worker.node })}</span>}
      {doing && <span className={styles.doing}>{doing}</span>}
    </>
  );
}

interface ActionsProps {
  agent: string;
  entity: string;
  worker: Schemas["WorkerView"] | undefined;
  isAll: boolean;
  onAll: (isAll: boolean) => void;
  onSearch: () => void;
}

export function Actions({ agent, entity, worker, isAll, onAll, onSearch }: ActionsProps) {
  const { t } = useTranslation("conversation");
  const go = useNavigate();
  const save = useSaveTranscript();
  return (
    <>
      <span className={styles.switch} role="group" aria-label={t("shown")}>
        {[false, true].map((all) => (
          <button
            key={String(all)}
            type="button"
            aria-pressed={all === isAll}
            className={classes(styles.choice, all === isAll && styles.isChosen)}
            onClick={() => onAll(all)}
          >
            {t(all ? "everything" : "resultsOnly")}
          </button>
        ))}
      </span>
      <IconButton
        label={t("saveTranscript")}
        icon={<Icon name="download" />}
        onClick={() => save(agent, entity)}
      />
      <IconButton label={t("search")} icon={<Icon name="search" />} onClick={onSearch} />
      {worker && (
        <IconButton
          label={t("workerPage", { name: worker.name })}
          icon={<Icon name="user" />}
          onClick={() => void go(paths.worker(agent, worker.name))}
        />
      )}
    </>
  );
}
