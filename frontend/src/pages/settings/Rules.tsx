// The rules of approvals.yaml in their order: the first that fits decides.
import { useTranslation } from "react-i18next";

import type { SettingChange } from "~/api/system";
import { Button, Empty, Icon, IconButton } from "~/ui";
import { type FormProps, valueAt, withChange } from "./draft";
import { propertiesOf, schemaAt } from "./schema";
import { SettingField } from "./SettingField";
import styles from "./settings.module.css";

type Rule = Record<string, unknown>;

export function Rules(props: FormProps) {
  const { t } = useTranslation("settings");
  const { own, draft, onDraft, content } = props;
  const found = valueAt(own, draft, ["rules"]);
  const rules = (Array.isArray(found) ? found : []) as Rule[];
  const put = (next: Rule[]) =>
    onDraft(withChange(draft, { key: ["rules"], value: next as SettingChange["value"], remove: false }));
  const swap = (place: number, other: number) => {
    const next = [...rules];
    const [one, two] = [next[place], next[other]];
    if (one === undefined || two === undefined) return;
    next[place] = two;
    next[other] = one;
    put(next);
  };
  const fields = propertiesOf(schemaAt(content.shape, ["rules", 0]));
  return (
    <div className={styles.form}>
      <p className={styles.hint}>{t("rulesAbout")}</p>
      {rules.length === 0 && <Empty title={t("noRules")}>{t("noRulesAbout")}</Empty>}
      <ol className={styles.rules}>
        {rules.map((rule, place) => (
          <li key={place} className={styles.rule}>
            <header>
              <strong>{String(rule["name"] ?? t("rule", { number: place + 1 }))}</strong>
              <span className={styles.acts}>
                <IconButton size="s" label={t("earlier", { number: place + 1 })} icon={<span aria-hidden>↑</span>} disabled={place === 0} onClick={() => swap(place, place - 1)} />
                <IconButton size="s" label={t("later", { number: place + 1 })} icon={<span aria-hidden>↓</span>} disabled={place === rules.length - 1} onClick={() => swap(place, place + 1)} />
                <IconButton size="s" label={t("remove", { number: place + 1 })} icon={<Icon name="trash" />} onClick={() => put(rules.filter((_, other) => other !== place))} />
              </span>
            </header>
            <div className={styles.fields}>
              {fields.map(([field, shape]) => (
                <SettingField key={field} {...props} path={["rules", place, field]} fallback={shape["default"]} />
              ))}
            </div>
          </li>
        ))}
      </ol>
      <Button
        icon={<Icon name="plus" />}
        onClick={() => put([...rules, { name: `rule-${rules.length + 1}`, tool: "bash", action: "ask" }])}
      >
        {t("addRule")}
      </Button>
    </div>
  );
}
