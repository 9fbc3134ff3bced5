// What `agiraph doctor` says: what needs attention first, the rest in short.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";

import type { Schemas } from "~/api/client";
import { ofHome } from "~/api/keys";
import { askDoctor, useDoctor } from "~/api/system";
import { Button, classes, ErrorNote, Icon, Loaded, Panel, Time } from "~/ui";
import styles from "./health.module.css";

type Check = Schemas["DoctorCheckView"];

const ORDER = ["fail", "warn", "ok"] as const;
const SIGNS = { ok: "✓", warn: "!", fail: "✗" } as const;

export function DoctorReport() {
  const { t } = useTranslation("health");
  const client = useQueryClient();
  const query = useDoctor();
  const again = useMutation({
    mutationFn: askDoctor,
    onSuccess: (found) => client.setQueryData(ofHome("doctor"), found),
  });
  return (
    <Panel
      title={t("doctor")}
      actions={
        <Button
          size="s"
          icon={<Icon name="retry" />}
          isBusy={again.isPending || query.isFetching}
          onClick={() => again.mutate()}
        >
          {t("checkAgain")}
        </Button>
      }
    >
      {again.error && <ErrorNote error={again.error} />}
      <Loaded query={query} lines={5}>
        {(report) => <Report report={report} />}
      </Loaded>
    </Panel>
  );
}

function Report({ report }: { report: Schemas["DoctorView"] }) {
  const { t } = useTranslation("health");
  const of = (status: Check["status"]) => report.checks.filter((check) => check.status === status);
  const open = ORDER.slice(0, 2).flatMap(of);
  const fine = of("ok");
  const fails = of("fail").length;
  return (
    <>
      <p className={styles.summary} data-tone={fails ? "bad" : open.length ? "ask" : "good"}>
        <span aria-hidden="true">{fails ? SIGNS.fail : open.length ? SIGNS.warn : SIGNS.ok}</span>
        {fails
          ? t("someFail", { count: fails })
          : open.length
            ? t("someWarn", { count: open.length })
            : t("allWell")}
        <span className={styles.age}>
          {t("checked")} <Time at={report.checked_at} />
        </span>
      </p>
      <Checks checks={open} />
      <details className={styles.fine}>
        <summary>{t("fine", { count: fine.length })}</summary>
        <Checks checks={fine} />
      </details>
    </>
  );
}

function Checks({ checks }: { checks: readonly Check[] }) {
  const { t } = useTranslation("health");
  return (
    <ul className={styles.checks}>
      {checks.map((check) => (
        <li key={check.name}>
          <span
            className={classes(styles.sign, styles[check.status])}
            role="img"
            aria-label={t(`status_${check.status}`)}
          >
            {SIGNS[check.status]}
          </span>
          <strong>{check.name}</strong>
          <div>
            <p>{check.detail}</p>
            {check.advice && check.status !== "ok" && <p className={styles.advice}>{check.advice}</p>}
          </div>
        </li>
      ))}
    </ul>
  );
}
