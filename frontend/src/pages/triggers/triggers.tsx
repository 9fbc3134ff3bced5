// An agent's triggers.
import { useTranslation } from "react-i18next";

import { Empty, Page } from "~/ui";

export default function Triggers() {
  const { t } = useTranslation("triggers");
  const { t: common } = useTranslation("app");
  return (
    <Page title={t("title")}>
      <Empty icon="board" title={common("comingTitle")}>
        {common("comingAbout")}
      </Empty>
    </Page>
  );
}
