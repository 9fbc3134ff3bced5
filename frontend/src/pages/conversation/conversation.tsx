// The conversation with an entity.
import { useTranslation } from "react-i18next";

import { Empty, Page } from "~/ui";

export default function Conversation() {
  const { t } = useTranslation("conversation");
  const { t: common } = useTranslation("app");
  return (
    <Page title={t("title")}>
      <Empty icon="board" title={common("comingTitle")}>
        {common("comingAbout")}
      </Empty>
    </Page>
  );
}
