// The last calls of the API: who called what, and how it ended.
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { type AuditedCall, useAudit } from "~/api/access";
import { Badge, Button, Check, type Column, Loaded, Panel, Table, Time } from "~/ui";
import styles from "./admin.module.css";

const FIRST = 50;
const MOST = 10_000;

export function Audit() {
  const { t } = useTranslation("admin");
  const [isRefused, setRefused] = useState(false);
  const [limit, setLimit] = useState(FIRST);
  const query = useAudit(isRefused, limit);
  const columns: Column<AuditedCall>[] = [
    { key: "time", label: t("time"), cell: (call) => <Time at={call.ts} /> },
    {
      key: "who",
      label: t("caller"),
      cell: (call) => <span title={call.login ?? call.client}>{call.who ?? call.client}</span>,
    },
    { key: "call", label: t("call"), cell: (call) => <code className={styles.path}>{`${call.method} ${call.path}`}</code> },
    { key: "outcome", label: t("outcome"), cell: (call) => <Outcome call={call} /> },
    { key: "ms", label: "ms", isNumber: true, isMinor: true, cell: (call) => call.ms !== null && Math.round(call.ms) },
  ];
  return (
    <Panel
      title={t("audit")}
      actions={<Check label={t("refusedOnly")} checked={isRefused} onChange={(event) => setRefused(event.target.checked)} />}
    >
      <p className={styles.quiet}>{t("auditAbout")}</p>
      <Loaded query={query} lines={8}>
        {(calls) =>
          calls.length ? (
            <>
              <Table label={t("audit")} columns={columns} rows={calls.toReversed()} rowKey={(call) => `${call.id} ${call.status}`} />
              {calls.length >= limit && limit < MOST && (
                <Button size="s" isBusy={query.isFetching} onClick={() => setLimit(Math.min(MOST, limit * 4))}>
                  {t("more")}
                </Button>
              )}
            </>
          ) : (
            <p className={styles.quiet}>{t("noCalls")}</p>
          )
        }
      </Loaded>
    </Panel>
  );
}

const BAD = 400;

function Outcome({ call: { status, reason, held_back } }: { call: AuditedCall }) {
  const { t } = useTranslation("admin");
  if (status === null) return <Badge>{t("unfinished")}</Badge>;
  return (
    <>
      <Badge tone={status >= BAD ? "bad" : "good"}>{status}</Badge> {reason}
      {held_back > 0 && ` (${t("heldBack", { count: held_back })})`}
    </>
  );
}
