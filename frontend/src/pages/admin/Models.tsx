// The models that teams can use, how to get more, and which is the default.
import { useQueryClient } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";

import { useMay } from "~/api/access";
import { ofHome } from "~/api/keys";
import { useModels } from "~/api/queries";
import { useSaveSettings, useSettingsFile } from "~/api/system";
import { Badge, Button, type Column, formatShortCount, Icon, Loaded, Panel, Table, toast } from "~/ui";
import styles from "./admin.module.css";
import { type Model, type Provider, providersOf } from "./catalog";

const SETTINGS = "agiraph.yaml";

export function Models() {
  const { t } = useTranslation("admin");
  const query = useModels();
  const client = useQueryClient();
  const mayControl = useMay("control");
  return (
    <Loaded query={query} lines={8}>
      {({ providers, default: usual, why }) => {
        const all = providersOf(providers);
        const missing = all.find(({ variable }) => variable)?.variable ?? "";
        return (
          <>
            <Panel
              title={usual ? t("defaultModel") : t("firstStart")}
              actions={
                <Button size="s" icon={<Icon name="retry" />} isBusy={query.isFetching} onClick={() => void client.invalidateQueries({ queryKey: ofHome("models") })}>
                  {t("lookAgain")}
                </Button>
              }
            >
              {usual ? (
                <p>
                  <strong>{usual}</strong> {why && <span className={styles.quiet}>{t("because", { why })}</span>}
                </p>
              ) : (
                <p>
                  {t("noDefault")} {t("firstStartAbout")} {t("tryFirst")}
                </p>
              )}
              {missing && (
                <details className={styles.how} open={!usual}>
                  <summary>{t("keyHow")}</summary>
                  <pre tabIndex={0}>{t("keyLines", { variable: missing })}</pre>
                </details>
              )}
            </Panel>
            <Panel title={t("providers")}>
              <ul className={styles.providers}>
                {all.map((provider) => (
                  <OneProvider key={provider.name} provider={provider} usual={usual} mayControl={mayControl} />
                ))}
              </ul>
            </Panel>
          </>
        );
      }}
    </Loaded>
  );
}

interface ProviderProps {
  provider: Provider;
  usual: string | null;
  mayControl: boolean;
}

function OneProvider({ provider, usual, mayControl }: ProviderProps) {
  const { t } = useTranslation("admin");
  const { name, isUsable, reason, models } = provider;
  return (
    <li>
      <details>
        <summary>
          <strong>{name}</strong> <Badge tone={isUsable ? "good" : "quiet"}>{t(isUsable ? "usable" : "notUsable")}</Badge>{" "}
          <span className={styles.quiet}>{reason}</span>
        </summary>
        {models.length ? (
          <ModelTable provider={provider} usual={usual} mayControl={mayControl} />
        ) : (
          <p className={styles.quiet}>{t("noModels")}</p>
        )}
      </details>
    </li>
  );
}

function ModelTable({ provider, usual, mayControl }: ProviderProps) {
  const { t } = useTranslation("admin");
  const columns: Column<Model>[] = [
    {
      key: "model",
      label: t("model"),
      cell: ({ name }) => (
        <>
          {name} {name === usual && <Badge tone="accent">{t("isDefault")}</Badge>}
        </>
      ),
    },
    { key: "context", label: t("window"), isNumber: true, isMinor: true, cell: ({ context }) => context !== null && formatShortCount(context) },
    {
      key: "price",
      label: t("price"),
      isNumber: true,
      isMinor: true,
      cell: ({ input, output }) => input !== null && output !== null && `${input} / ${output}`,
    },
    {
      key: "act",
      label: <span className="unseen">{t("acts")}</span>,
      isNumber: true,
      cell: ({ name }) => mayControl && provider.isUsable && name !== usual && <MakeDefault model={name} />,
    },
  ];
  return <Table label={provider.name} columns={columns} rows={provider.models} rowKey={({ name }) => name} />;
}

/** Writes models.default into the settings; the rest of the file stays as it is. */
function MakeDefault({ model }: { model: string }) {
  const { t } = useTranslation("admin");
  const client = useQueryClient();
  const file = useSettingsFile(SETTINGS);
  const save = useSaveSettings({
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: ofHome("models") });
      toast({ title: t("madeDefault", { model }), tone: "good" });
    },
  });
  const etag = file.data?.etag;
  return (
    <Button
      size="s"
      disabled={etag === undefined}
      isBusy={save.isPending}
      onClick={() =>
        etag !== undefined &&
        save.act({ file: SETTINGS, etag, edit: { changes: [{ key: ["models", "default"], value: model, remove: false }] } })
      }
      aria-label={`${t("makeDefault")}: ${model}`}
    >
      {t("makeDefault")}
    </Button>
  );
}
