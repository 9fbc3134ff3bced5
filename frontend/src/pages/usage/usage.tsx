// Tokens and money.
import { useTranslation } from "react-i18next";

import { Empty, Page } from "~/ui";

export default function Usage() {
  const { t } = useTranslation("usage");
  const { t: common } = useTranslation("app");
  return (
    <Page title={t("title")}>
      <Empty icon="board" title={common("comingTitle")}>
        {common("comingAbout")}
      </Empty>
    </Page>
  );
}
