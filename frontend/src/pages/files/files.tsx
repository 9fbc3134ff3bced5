// The files of a run.
import { useTranslation } from "react-i18next";

import { Empty, Page } from "~/ui";

export default function Files() {
  const { t } = useTranslation("files");
  const { t: common } = useTranslation("app");
  return (
    <Page title={t("title")}>
      <Empty icon="board" title={common("comingTitle")}>
        {common("comingAbout")}
      </Empty>
    </Page>
  );
}
