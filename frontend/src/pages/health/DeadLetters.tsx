// Messages that ended their receiver again and again, and sending them once more.
import { useTranslation } from "react-i18next";

import { useMay } from "~/api/access";
import type { Schemas } from "~/api/client";
import { useDeadLetters } from "~/api/queries";
import { useRetryDeadLetter } from "~/api/system";
import { Button, type Column, formatSize, Loaded, Panel, Table, Time, toast } from "~/ui";
import styles from "./health.module.css";

type Letter = Schemas["DeadLetterView"];

export function DeadLetters() {
  const { t } = useTranslation("health");
  const query = useDeadLetters();
  const retry = useRetryDeadLetter({
    onSuccess: (letter) => toast({ title: t("sentBack", { to: letter.to }), tone: "good" }),
  });
  const columns = useColumns(retry.act, retry.isPending);
  return (
    <Panel title={t("dead")}>
      <Loaded query={query} lines={2}>
        {(letters) =>
          letters.length ? (
            <Table label={t("dead")} columns={columns} rows={letters} rowKey={(letter) => letter.id} />
          ) : (
            <p className={styles.none}>{t("noDead")}</p>
          )
        }
      </Loaded>
    </Panel>
  );
}

function useColumns(onRetry: (letter: string) => void, isBusy: boolean): Column<Letter>[] {
  const { t } = useTranslation("health");
  const mayControl = useMay("control");
  return [
    { key: "to", label: t("to"), cell: (letter) => letter.to },
    { key: "from", label: t("from"), isMinor: true, cell: (letter) => letter.from },
    { key: "type", label: t("type"), cell: (letter) => <code>{letter.type}</code> },
    { key: "cause", label: t("because"), cell: (letter) => letter.cause },
    { key: "at", label: t("at"), isMinor: true, cell: (letter) => <Time at={letter.at} /> },
    { key: "size", label: t("size"), isNumber: true, isMinor: true, cell: (letter) => formatSize(letter.size) },
    {
      key: "act",
      label: <span className="unseen">{t("acts")}</span>,
      isNumber: true,
      cell: (letter) =>
        mayControl && (
          <Button size="s" onClick={() => onRetry(letter.id)} isBusy={isBusy}>
            {t("sendBack")}
          </Button>
        ),
    },
  ];
}
