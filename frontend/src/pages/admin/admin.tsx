// The home as a whole: you, who may do what, what was called, the logs, the models, tidying up.
import { useTranslation } from "react-i18next";
import { useNavigate, useParams } from "react-router";

import { useMay } from "~/api/access";
import { useHealth } from "~/api/queries";
import { Page, paths, type Tab, Tabs } from "~/ui";
import { Audit } from "./Audit";
import { Logs } from "./Logs";
import { Models } from "./Models";
import { BrowserLogins } from "./BrowserLogins";
import { TidyUp } from "./TidyUp";
import { Tokens } from "./Tokens";
import { You } from "./You";

export default function Admin() {
  const { t } = useTranslation("admin");
  const { data } = useHealth();
  const navigate = useNavigate();
  const mayControl = useMay("control");
  const tabs: Tab[] = [
    { key: "you", label: t("you"), content: <You /> },
    { key: "models", label: t("models"), content: <Models /> },
  ];
  if (mayControl) {
    tabs.push(
      { key: "access", label: t("access"), content: <><Tokens /><BrowserLogins /></> },
      { key: "audit", label: t("audit"), content: <Audit /> },
      { key: "logs", label: t("logs"), content: <Logs /> },
      { key: "tidy", label: t("tidy"), content: <TidyUp /> },
    );
  }
  const asked = useParams()["tab"];
  const open = tabs.find((tab) => tab.key === asked)?.key ?? "you";
  return (
    <Page title={t("title")} about={data && <span>{t("about", { version: data.version, home: data.home })}</span>}>
      <Tabs label={t("title")} tabs={tabs} open={open} onOpen={(tab) => void navigate(paths.admin(tab))} />
    </Page>
  );
}
