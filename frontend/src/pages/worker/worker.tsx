// One worker.
import { useTranslation } from "react-i18next";

import { Empty, Page } from "~/ui";

export default function Worker() {
  const { t } = useTranslation("worker");
  const { t: common } = useTranslation("app");
  return (
    <Page title={t("title")}>
      <Empty icon="board" title={common("comingTitle")}>
        {common("comingAbout")}
      </Empty>
    </Page>
  );
}
