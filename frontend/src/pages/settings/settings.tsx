// The settings of the home.
import { useTranslation } from "react-i18next";

import { Empty, Page } from "~/ui";

export default function Settings() {
  const { t } = useTranslation("settings");
  const { t: common } = useTranslation("app");
  return (
    <Page title={t("title")}>
      <Empty icon="board" title={common("comingTitle")}>
        {common("comingAbout")}
      </Empty>
    </Page>
  );
}
