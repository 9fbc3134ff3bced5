// How the home stands.
import { useTranslation } from "react-i18next";

import { Empty, Page } from "~/ui";

export default function Health() {
  const { t } = useTranslation("health");
  const { t: common } = useTranslation("app");
  return (
    <Page title={t("title")}>
      <Empty icon="board" title={common("comingTitle")}>
        {common("comingAbout")}
      </Empty>
    </Page>
  );
}
