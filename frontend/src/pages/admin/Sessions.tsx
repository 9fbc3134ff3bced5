// The browsers that are logged in, and logging one out.
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { type Session, useEndSession, useSessions, useWhoAmI } from "~/api/access";
import { Badge, Button, type Column, Confirm, Loaded, Panel, Table, Time } from "~/ui";
import { browserName } from "./browsers";

export function Sessions() {
  const { t } = useTranslation("admin");
  const query = useSessions();
  const own = useWhoAmI().data?.session;
  const [asked, setAsked] = useState<Session | null>(null);
  const end = useEndSession({ onSuccess: () => setAsked(null) });
  const name = (session: Session) => browserName(session.browser) || t("unknownBrowser");
  const columns: Column<Session>[] = [
    {
      key: "browser",
      label: t("browser"),
      cell: (session) => (
        <span title={session.browser}>
          {name(session)} {session.id === own && <Badge tone="accent">{t("thisBrowser")}</Badge>}
        </span>
      ),
    },
    { key: "scope", label: t("scope"), cell: (session) => session.scope },
    {
      key: "created",
      label: t("created"),
      isMinor: true,
      cell: (session) => (
        <>
          <Time at={session.created_at} /> {t("createdBy", { name: session.created_by })}
        </>
      ),
    },
    { key: "expires", label: t("expires"), isMinor: true, cell: (session) => <Time at={session.expires_at} /> },
    { key: "used", label: t("lastUsed"), isMinor: true, cell: (session) => session.last_used_at !== null && <Time at={session.last_used_at} /> },
    {
      key: "acts",
      label: <span className="unseen">{t("acts")}</span>,
      isNumber: true,
      cell: (session) =>
        session.id !== own && (
          <Button size="s" onClick={() => setAsked(session)}>
            {t("endSession")}
          </Button>
        ),
    },
  ];
  return (
    <Panel title={t("sessions")}>
      <Loaded query={query}>
        {(sessions) => (
          <Table label={t("sessions")} columns={columns} rows={sessions} rowKey={(session) => session.id} />
        )}
      </Loaded>
      {asked && (
        <Confirm
          isOpen
          onClose={() => setAsked(null)}
          title={t("endTitle", { name: `${name(asked)} (${asked.id})` })}
          about={t("endAbout")}
          act={t("endSession")}
          isBusy={end.isPending}
          onConfirm={() => end.act(asked.id)}
        />
      )}
    </Panel>
  );
}
