// An agent's events.
import { useTranslation } from "react-i18next";

import { Empty, Page } from "~/ui";

export default function Events() {
  const { t } = useTranslation("events");
  const { t: common } = useTranslation("app");
  return (
    <Page title={t("title")}>
      <Empty icon="board" title={common("comingTitle")}>
        {common("comingAbout")}
      </Empty>
    </Page>
  );
}
