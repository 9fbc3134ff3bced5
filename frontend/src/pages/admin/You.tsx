// The person: as what this browser is logged in, and whether the person is available or away.
import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";

import { useMay, useWhoAmI } from "~/api/access";
import { useSetPresence } from "~/api/actions";
import type { Schemas } from "~/api/client";
import { useChannels, usePresence } from "~/api/queries";
import { Button, Input, Loaded, Panel, Select, Time } from "~/ui";
import styles from "./admin.module.css";

export function You() {
  const { t } = useTranslation("admin");
  const who = useWhoAmI();
  const presence = usePresence();
  return (
    <>
      <Panel title={t("presence")}>
        <Loaded query={presence} lines={2}>
          {(now) => (now.status === "away" ? <Away presence={now} /> : <Available />)}
        </Loaded>
      </Panel>
      <Panel title={t("who")}>
        <Loaded query={who} lines={2}>
          {({ name, scope, expires_at }) => (
            <dl className={styles.facts}>
              <div>
                <dt>{t("whoName")}</dt>
                <dd>{name}</dd>
              </div>
              <div>
                <dt>{t("whoScope")}</dt>
                <dd>{t(`scope_${scope}`)}</dd>
              </div>
              {expires_at !== null && (
                <div>
                  <dt>{t("whoUntil")}</dt>
                  <dd>
                    <Time at={expires_at} form="full" />
                  </dd>
                </div>
              )}
            </dl>
          )}
        </Loaded>
      </Panel>
    </>
  );
}

function Away({ presence: { channel, since, until } }: { presence: Schemas["PresenceView"] }) {
  const { t } = useTranslation("admin");
  const set = useSetPresence();
  return (
    <>
      <p>
        {channel ? t("awayNow", { channel }) : t("awayNowAll")}{" "}
        {since !== null && <>({t("awaySince")} <Time at={since} />{until !== null && <>, {t("awayUntil")} <Time at={until} /></>})</>}
      </p>
      {useMay("talk") && (
        <p className={styles.acts}>
          <Button look="main" isBusy={set.isPending} onClick={() => set.act({ status: "available" })}>
            {t("back")}
          </Button>
        </p>
      )}
    </>
  );
}

/** Whether notices can be sent by a channel; the console and the page are always there. */
const ALWAYS = ["console", "web"];

function Available() {
  const { t } = useTranslation("admin");
  const { data: channels = [] } = useChannels();
  const [until, setUntil] = useState("");
  const [channel, setChannel] = useState("");
  const set = useSetPresence();
  const mayTalk = useMay("talk");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    set.act({
      status: "away",
      ...(until ? { until: new Date(until).getTime() / 1000 } : {}),
      ...(channel ? { channel } : {}),
    });
  };
  return (
    <>
      <p>{t("available")}</p>
      {mayTalk && (
        <form className={styles.row} onSubmit={submit}>
          <Input
            label={t("until")}
            hint={t("untilHint")}
            type="datetime-local"
            value={until}
            onChange={(event) => setUntil(event.target.value)}
          />
          <Select label={t("channel")} value={channel} onChange={(event) => setChannel(event.target.value)}>
            <option value="">{t("everyChannel")}</option>
            {channels
              .filter(({ name }) => !ALWAYS.includes(name))
              .map(({ name }) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
          </Select>
          <Button type="submit" isBusy={set.isPending}>
            {t("away")}
          </Button>
        </form>
      )}
    </>
  );
}
