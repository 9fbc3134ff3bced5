// An agent's triggers: what each waits for and does, when it fires next, and adding one.
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { useMay } from "~/api/access";
import { type TriggerAct, useActOnTrigger, useCancelTrigger } from "~/api/actions";
import { useTriggers } from "~/api/queries";
import {
  Button,
  Confirm,
  Empty,
  formatAge,
  Icon,
  IconButton,
  Loaded,
  Menu,
  type MenuItem,
  Page,
  StatusSign,
  Time,
  toast,
  useAgentId,
  useNow,
} from "~/ui";
import { AddTrigger } from "./AddTrigger";
import { deed, inOrder, isCurrent, schedule, type Trigger, TYPES } from "./triggerForm";
import styles from "./triggers.module.css";

export default function Triggers() {
  const { t } = useTranslation("triggers");
  const agent = useAgentId();
  const query = useTriggers(agent);
  const [isAdding, setAdding] = useState(false);
  const [cancelled, setCancelled] = useState<Trigger | null>(null);
  const cancel = useCancelTrigger(agent);
  const mayControl = useMay("control");
  const add = mayControl && (
    <Button look="main" icon={<Icon name="plus" />} onClick={() => setAdding(true)}>
      {t("add")}
    </Button>
  );
  return (
    <Page title={t("title")} actions={query.data?.length ? add : null}>
      <Loaded query={query} lines={4}>
        {(triggers) =>
          triggers.length ? (
            <ul className={styles.list}>
              {inOrder(triggers).map((one) => (
                <OneTrigger key={one.id} agent={agent} trigger={one} onCancel={() => setCancelled(one)} />
              ))}
            </ul>
          ) : (
            <Empty icon="trigger" title={t("none")} action={add}>
              {t("noneAbout")}
            </Empty>
          )
        }
      </Loaded>
      {isAdding && <AddTrigger agent={agent} onClose={() => setAdding(false)} />}
      {cancelled && (
        <Confirm
          isOpen
          onClose={() => setCancelled(null)}
          title={t("askCancel", { name: cancelled.name })}
          about={t("cancelAbout")}
          act={t("cancel")}
          isBusy={cancel.isPending}
          onConfirm={() =>
            void cancel.actAsync(cancelled.id).finally(() => setCancelled(null))
          }
        />
      )}
    </Page>
  );
}

interface OneProps {
  agent: string;
  trigger: Trigger;
  onCancel: () => void;
}

function OneTrigger({ agent, trigger, onCancel }: OneProps) {
  const { t } = useTranslation("triggers");
  const { type, said } = deed(trigger);
  const isOver = !isCurrent(trigger);
  const mayControl = useMay("control");
  return (
    <li className={styles.trigger} data-over={isOver || undefined}>
      <span className={styles.mark} aria-hidden="true">
        <Icon name={trigger.type === "on_event" ? "events" : "trigger"} size={18} />
      </span>
      <div className={styles.what}>
        <p className={styles.name}>
          <strong>{trigger.name}</strong>
          {trigger.status !== "active" && <StatusSign status={trigger.status} hasWord />}
        </p>
        <p>
          <WaitsFor trigger={trigger} />
        </p>
        <p className={styles.deed}>
          <span>{t(`action_${type as "wake_agent"}`)}</span> {said}
        </p>
        {trigger.reason && <p className={styles.reason}>{trigger.reason}</p>}
        <p className={styles.counts}>
          {t("fired", { count: trigger.fired })}
          {trigger.skipped > 0 && ` · ${t("skipped", { count: trigger.skipped })}`}
          {trigger.last_fired_at !== null && (
            <>
              {` · ${t("last")} `}
              <Time at={trigger.last_fired_at} />
            </>
          )}
          {trigger.created_by && ` · ${t("by", { name: trigger.created_by })}`}
        </p>
      </div>
      <div className={styles.next}>
        {trigger.next_due !== null && trigger.status === "active" && <NextDue at={trigger.next_due} />}
        {!isOver && mayControl && <Acts agent={agent} trigger={trigger} onCancel={onCancel} />}
      </div>
    </li>
  );
}

function WaitsFor({ trigger }: { trigger: Trigger }) {
  const { t } = useTranslation("triggers");
  const facts = schedule(trigger);
  const type = TYPES.find((one) => one === trigger.type);
  if (!type) return <>{trigger.type}</>;
  return (
    <>
      {t(`waits_${type}`, facts)}
      {facts.filter ? ` ${t("where", { filter: facts.filter })}` : ""}
    </>
  );
}

function NextDue({ at }: { at: number }) {
  const { t } = useTranslation("triggers");
  const now = useNow(at - Date.now() / 1000 < 120 ? 1 : 30);
  return (
    <p className={styles.due}>
      <Time at={at} />
      <span>{at > now ? t("in", { time: formatAge(at - now) }) : t("now")}</span>
    </p>
  );
}

function Acts({ agent, trigger, onCancel }: OneProps) {
  const { t } = useTranslation("triggers");
  const act = useActOnTrigger(agent, {
    onSuccess: (one) => toast({ title: t("done", { name: one.name }), tone: "good", seconds: 3 }),
  });
  const item = (what: TriggerAct, icon: MenuItem["icon"]): MenuItem => ({
    key: what,
    ...(icon ? { icon } : {}),
    label: t(what),
    onSelect: () => act.act({ trigger: trigger.id, act: what }),
  });
  return (
    <Menu
      trigger={
        <IconButton size="s" label={t("acts", { name: trigger.name })} icon={<Icon name="more" />} />
      }
      items={[
        item("fire", "send"),
        trigger.status === "paused" ? item("resume", "play") : item("pause", "pause"),
        null,
        { key: "cancel", icon: "trash", label: t("cancel"), isDangerous: true, onSelect: onCancel },
      ]}
    />
  );
}
