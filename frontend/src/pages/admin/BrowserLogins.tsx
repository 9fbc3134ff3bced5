// The browsers that are logged in, and logging one out.
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { type BrowserLogin, useEndLogin, useBrowserLogins, useWhoAmI } from "~/api/access";
import { Badge, Button, type Column, Confirm, Loaded, Panel, Table, Time } from "~/ui";
import { browserName } from "./browsers";

export function BrowserLogins() {
  const { t } = useTranslation("admin");
  const query = useBrowserLogins();
  const own = useWhoAmI().data?.login;
  const [asked, setAsked] = useState<BrowserLogin | null>(null);
  const end = useEndLogin({ onSuccess: () => setAsked(null) });
  const name = (login: BrowserLogin) => browserName(login.browser) || t("unknownBrowser");
  const columns: Column<BrowserLogin>[] = [
    {
      key: "browser",
      label: t("browser"),
      cell: (login) => (
        <span title={login.browser}>
          {name(login)} {login.id === own && <Badge tone="accent">{t("thisBrowser")}</Badge>}
        </span>
      ),
    },
    { key: "scope", label: t("scope"), cell: (login) => login.scope },
    {
      key: "created",
      label: t("created"),
      isMinor: true,
      cell: (login) => (
        <>
          <Time at={login.created_at} /> {t("createdBy", { name: login.created_by })}
        </>
      ),
    },
    { key: "expires", label: t("expires"), isMinor: true, cell: (login) => <Time at={login.expires_at} /> },
    { key: "used", label: t("lastUsed"), isMinor: true, cell: (login) => login.last_used_at !== null && <Time at={login.last_used_at} /> },
    {
      key: "acts",
      label: <span className="unseen">{t("acts")}</span>,
      isNumber: true,
      cell: (login) =>
        login.id !== own && (
          <Button size="s" onClick={() => setAsked(login)}>
            {t("endLogin")}
          </Button>
        ),
    },
  ];
  return (
    <Panel title={t("browserLogins")}>
      <Loaded query={query}>
        {(browserLogins) => (
          <Table label={t("browserLogins")} columns={columns} rows={browserLogins} rowKey={(login) => login.id} />
        )}
      </Loaded>
      {asked && (
        <Confirm
          isOpen
          onClose={() => setAsked(null)}
          title={t("endTitle", { name: `${name(asked)} (${asked.id})` })}
          about={t("endAbout")}
          act={t("endLogin")}
          isBusy={end.isPending}
          onConfirm={() => end.act(asked.id)}
        />
      )}
    </Panel>
  );
}
