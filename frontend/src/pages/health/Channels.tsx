// The channels by which the person is notified, and what could not be delivered.
import { useTranslation } from "react-i18next";

import { useMay } from "~/api/access";
import type { Schemas } from "~/api/client";
import { useChannels, useDeliveries } from "~/api/queries";
import { useRetryDelivery, useTestChannel } from "~/api/system";
import { Button, type Column, Loaded, Panel, Table, Time, toast } from "~/ui";
import styles from "./health.module.css";

type Channel = Schemas["ChannelView"];
type Delivery = Schemas["DeliveryView"];

const ALWAYS = ["console", "web"];

export function Channels() {
  const { t } = useTranslation("health");
  const query = useChannels();
  const test = useTestChannel({
    onSuccess: ({ channel, delivered, error }) =>
      toast(
        delivered
          ? { title: t("tested", { channel }), tone: "good" }
          : { title: t("notTested", { channel }), about: error, tone: "bad" },
      ),
  });
  const columns = useChannelColumns(test.act, test.isPending);
  return (
    <Panel title={t("channels")}>
      <Loaded query={query} lines={2}>
        {(channels) => (
          <Table label={t("channels")} columns={columns} rows={channels} rowKey={(one) => one.name} />
        )}
      </Loaded>
      <GivenUp />
    </Panel>
  );
}

function GivenUp() {
  const { t } = useTranslation("health");
  const { data } = useDeliveries();
  const retry = useRetryDelivery();
  const dead = data?.filter((delivery) => delivery.status === "dead") ?? [];
  const columns = useDeliveryColumns(retry.act, retry.isPending);
  if (!dead.length) return null;
  return (
    <section className={styles.group}>
      <h3>{t("givenUp")}</h3>
      <Table label={t("givenUp")} columns={columns} rows={dead} rowKey={(one) => one.id} />
    </section>
  );
}

function useChannelColumns(onTest: (channel: string) => void, isBusy: boolean): Column<Channel>[] {
  const { t } = useTranslation("health");
  const mayControl = useMay("control");
  return [
    { key: "name", label: t("channel"), cell: (channel) => <strong>{channel.name}</strong> },
    { key: "kind", label: t("kind"), isMinor: true, cell: (channel) => channel.kind },
    { key: "where", label: t("where"), isMinor: true, cell: (channel) => channel.where },
    { key: "waiting", label: t("waiting"), isNumber: true, cell: (channel) => channel.waiting || "" },
    { key: "delivered", label: t("delivered"), isNumber: true, cell: (channel) => channel.delivered || "" },
    { key: "error", label: t("lastError"), cell: (channel) => channel.last_error },
    {
      key: "act",
      label: <span className="unseen">{t("acts")}</span>,
      isNumber: true,
      cell: (channel) =>
        mayControl && !ALWAYS.includes(channel.name) && (
          <Button size="s" onClick={() => onTest(channel.name)} isBusy={isBusy}>
            {t("test")}
          </Button>
        ),
    },
  ];
}

function useDeliveryColumns(onRetry: (delivery: string) => void, isBusy: boolean): Column<Delivery>[] {
  const { t } = useTranslation("health");
  const mayControl = useMay("control");
  return [
    { key: "channel", label: t("channel"), cell: (delivery) => delivery.channel },
    { key: "text", label: t("text"), cell: (delivery) => delivery.text },
    { key: "error", label: t("lastError"), cell: (delivery) => delivery.error },
    { key: "at", label: t("at"), isMinor: true, cell: (delivery) => <Time at={delivery.at} /> },
    {
      key: "act",
      label: <span className="unseen">{t("acts")}</span>,
      isNumber: true,
      cell: (delivery) =>
        mayControl && (
          <Button size="s" onClick={() => onRetry(delivery.id)} isBusy={isBusy}>
            {t("deliverAgain")}
          </Button>
        ),
    },
  ];
}
