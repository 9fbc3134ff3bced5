// The MCP servers, what each offers, and why one cannot be used.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";

import type { Schemas } from "~/api/client";
import { ofHome } from "~/api/keys";
import { useServers } from "~/api/queries";
import { askServers } from "~/api/system";
import { Button, ErrorNote, Icon, Loaded, Panel, StatusSign } from "~/ui";
import styles from "./health.module.css";

type Server = Schemas["ToolServerView"];

export function Servers() {
  const { t } = useTranslation("health");
  const client = useQueryClient();
  const query = useServers();
  const again = useMutation({
    mutationFn: askServers,
    onSuccess: (found) => client.setQueryData(ofHome("servers"), found),
  });
  const has = (query.data?.length ?? 0) > 0;
  return (
    <Panel
      title={t("servers")}
      actions={
        has && (
          <Button
            size="s"
            icon={<Icon name="retry" />}
            isBusy={again.isPending}
            onClick={() => again.mutate()}
          >
            {t("askServers")}
          </Button>
        )
      }
    >
      {again.error && <ErrorNote error={again.error} />}
      <Loaded query={query} lines={2}>
        {(servers) =>
          servers.length ? (
            <ul className={styles.servers}>
              {servers.map((server) => (
                <OneServer key={server.name} server={server} />
              ))}
            </ul>
          ) : (
            <p className={styles.none}>{t("noServers")}</p>
          )
        }
      </Loaded>
    </Panel>
  );
}

function OneServer({ server }: { server: Server }) {
  const { t } = useTranslation("health");
  return (
    <li>
      <p className={styles.serverHead}>
        <strong>{server.name}</strong>
        <StatusSign status={server.state} hasWord />
        {server.title && <span className={styles.doing}>{server.title}</span>}
      </p>
      {server.problem && <p className={styles.cause}>{server.problem}</p>}
      {server.left_out && <p className={styles.cause}>{t("leftOut", { tools: server.left_out })}</p>}
      {server.tools.length > 0 && (
        <details>
          <summary>{t("tools", { count: server.tools.length })}</summary>
          <dl className={styles.tools}>
            {server.tools.map((tool) => (
              <div key={tool.name}>
                <dt>
                  <code>{tool.name}</code>
                </dt>
                <dd>{tool.description}</dd>
              </div>
            ))}
          </dl>
        </details>
      )}
    </li>
  );
}
