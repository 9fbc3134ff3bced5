// What can be done with a worker; what ends its process is asked before.
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useNavigate } from "react-router";

import { useMay } from "~/api/access";
import { useSteerEntity } from "~/api/actions";
import type { Schemas } from "~/api/client";
import { Button, Confirm, Icon, type IconName, IconButton, Menu, paths } from "~/ui";
import { type Act, actsFor } from "./activity";

const ICONS: Record<Act, IconName> = {
  pause: "pause",
  step: "chevron",
  resume: "play",
  interrupt: "close",
  restart: "retry",
  stop: "stop",
  kill: "warning",
};

export function Acts({ worker }: { worker: Schemas["WorkerView"] }) {
  const { t } = useTranslation("worker");
  const [asked, setAsked] = useState<"stop" | "kill" | null>(null);
  const steer = useSteerEntity({ onSuccess: () => setAsked(null) });
  const { name } = worker;
  const mayControl = useMay("control");
  const navigate = useNavigate();
  const act = (what: Act) =>
    what === "stop" || what === "kill"
      ? setAsked(what)
      : steer.act({ entity: worker.address, act: what });
  const [first, second, ...rest] = mayControl ? actsFor(worker.status, worker.process) : [];
  return (
    <>
      {[first, second].map(
        (what) =>
          what && (
            <Button key={what} icon={<Icon name={ICONS[what]} />} onClick={() => act(what)}>
              {t(`act.${what}`)}
            </Button>
          ),
      )}
      {mayControl && (
        <Menu
          trigger={<IconButton label={t("acts", { name })} icon={<Icon name="more" />} />}
          items={[
            ...rest.map((what) => ({
              key: what,
              icon: ICONS[what],
              label: t(`act.${what}`),
              isDangerous: what === "stop" || what === "kill",
              onSelect: () => act(what),
            })),
            { key: "logs", icon: "events", label: t("logs"), onSelect: () => void navigate(paths.admin("logs", { entity: worker.address })) },
          ]}
        />
      )}
      {asked && (
        <Confirm
          isOpen
          onClose={() => setAsked(null)}
          title={t(`ask.${asked}`, { name })}
          about={t(`askAbout.${asked}`)}
          act={t(`act.${asked}`)}
          onConfirm={() => steer.act({ entity: worker.address, act: asked })}
          isBusy={steer.isPending}
        />
      )}
    </>
  );
}
