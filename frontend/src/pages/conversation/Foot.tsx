// Below the thread: where one writes, or why one cannot, and what can be done then.
import { type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";

import { useMay } from "~/api/access";
import { useBeginRun, useSteerAgent } from "~/api/actions";
import type { Schemas } from "~/api/client";
import { Button, DialogActions, Dialog, TextArea, useStatusName } from "~/ui";
import styles from "./Composer.module.css";
import { Composer, type ComposerProps } from "./Composer";

interface FootProps extends ComposerProps {
  view: Schemas["AgentView"];
  worker: Schemas["WorkerView"] | undefined;
}

const ENDED = new Set(["completed", "failed", "stopped"]);

export function Foot({ view, worker, ...composer }: FootProps) {
  const { t } = useTranslation("conversation");
  const word = useStatusName();
  const { agent } = composer;
  const steer = useSteerAgent(agent);
  const hasEnded = ENDED.has(view.status);
  const [mayTalk, mayControl] = [useMay("talk"), useMay("control")];
  const again = hasEnded && mayControl && <AnotherRun agent={agent} />;
  if (worker?.status === "stopped") {
    return <Closed reason={t("workerLeft", { name: worker.name })}>{again}</Closed>;
  }
  if (view.status === "stopped") {
    return (
      <Closed reason={t("agentStopped", { name: view.name })}>
        {mayControl && (
          <Button size="s" isBusy={steer.isPending} onClick={() => steer.act("resume")}>
            {t("resume")}
          </Button>
        )}
        {again}
      </Closed>
    );
  }
  return (
    <div className={styles.foot0}>
      {hasEnded && (
        <p className={styles.ended}>
          {t("runEnded", { status: word(view.status) })}
          {again}
        </p>
      )}
      {mayTalk ? <Composer {...composer} /> : <p className={styles.closed}>{t("mayOnlyLook")}</p>}
    </div>
  );
}

function Closed({ reason, children }: { reason: string; children: ReactNode }) {
  return (
    <div className={styles.foot0}>
      <div className={styles.closed} role="note">
        <span>{reason}</span>
        {children}
      </div>
    </div>
  );
}

function AnotherRun({ agent }: { agent: string }) {
  const { t } = useTranslation("conversation");
  const [isOpen, setOpen] = useState(false);
  const [goal, setGoal] = useState("");
  const begin = useBeginRun(agent, { onSuccess: () => setOpen(false) });
  return (
    <>
      <Button size="s" onClick={() => setOpen(true)}>
        {t("anotherRun")}
      </Button>
      <Dialog isOpen={isOpen} onClose={() => setOpen(false)} title={t("anotherRun")} about={t("anotherRunAbout")}>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            begin.act({ goal: goal.trim(), record: false });
          }}
        >
          <TextArea label={t("goal")} rows={4} value={goal} onChange={(event) => setGoal(event.target.value)} />
          <DialogActions>
            <Button onClick={() => setOpen(false)}>{t("cancel")}</Button>
            <Button type="submit" look="main" disabled={!goal.trim()} isBusy={begin.isPending}>
              {t("begin")}
            </Button>
          </DialogActions>
        </form>
      </Dialog>
    </>
  );
}
