// How the home stands: what the doctor says, the processes, other machines, dead letters, channels, MCP servers.
import { useTranslation } from "react-i18next";

import { useHealth } from "~/api/queries";
import { Page } from "~/ui";
import { Channels } from "./Channels";
import { DeadLetters } from "./DeadLetters";
import { DoctorReport } from "./DoctorReport";
import { Hosts } from "./Hosts";
import { Processes } from "./Processes";
import { Servers } from "./Servers";

export default function Health() {
  const { t } = useTranslation("health");
  const { data } = useHealth();
  return (
    <Page
      title={t("title")}
      about={data && <span>{t("about", { version: data.version, home: data.home })}</span>}
    >
      <DoctorReport />
      <Processes />
      <Hosts />
      <DeadLetters />
      <Channels />
      <Servers />
    </Page>
  );
}
