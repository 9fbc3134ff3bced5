// The top bar: whose page this is, how the page stands with the gateway, the palette, the settings.
import { useTranslation } from "react-i18next";
import { Link, useMatch } from "react-router";

import { useWhoAmI } from "~/api/access";
import { useLogOut } from "~/api/actions";
import { useAgent } from "~/api/queries";
import { setLanguage, LANGUAGES, type Language } from "~/text/i18n";
import { useConnection } from "~/live/connection";
import {
  askToNotify,
  Badge,
  classes,
  Icon,
  IconButton,
  Keyboard,
  Menu,
  Money,
  paths,
  StatusSign,
  toast,
  Tokens,
  useNotifications,
} from "~/ui";
import { AgentMenu } from "./AgentMenu";
import { setTheme, type Theme, THEMES, useTheme } from "./theme";
import styles from "./TopBar.module.css";

interface TopBarProps {
  onSidebar: () => void;
  onPalette: () => void;
}

export function TopBar({ onSidebar, onPalette }: TopBarProps) {
  const { t } = useTranslation("app");
  const agent = useMatch("/agents/:agent/*")?.params.agent;
  return (
    <header className={styles.bar}>
      <span className={styles.opener}>
        <IconButton label={t("openSidebar")} icon={<Icon name="menu" />} onClick={onSidebar} />
      </span>
      <div className={styles.about}>{agent && <AboutAgent key={agent} agent={agent} />}</div>
      <ReadOnly />
      <Connection />
      <button type="button" className={styles.palette} onClick={onPalette}>
        <Icon name="search" />
        <span className={styles.paletteText}>{t("palette")}</span>
        <Keyboard keys="Mod+k" />
      </button>
      <Preferences />
    </header>
  );
}

function AboutAgent({ agent }: { agent: string }) {
  const { t } = useTranslation("app");
  const { data } = useAgent(agent);
  if (!data) return null;
  return (
    <>
      <Link to={paths.agent(agent)} className={styles.name}>
        {data.name}
      </Link>
      <StatusSign status={data.status} hasWord />
      <span className={styles.spent}>
        <Tokens count={data.tokens} isEstimate={data.is_estimate} />
        <Money usd={data.cost_usd} isShort isEstimate={data.is_estimate} />
      </span>
      <AgentMenu agent={data} label={t("actions")} size="s" />
    </>
  );
}

/** Says that this browser may not change anything. */
function ReadOnly() {
  const { t } = useTranslation("app");
  const scope = useWhoAmI().data?.scope;
  if (scope === undefined || scope === "control") return null;
  return (
    <span className={styles.readOnly} title={t(scope === "read" ? "readOnlyAbout" : "talkOnlyAbout")}>
      <Badge tone="ask">{t(scope === "read" ? "readOnly" : "talkOnly")}</Badge>
    </span>
  );
}

function Connection() {
  const { t } = useTranslation("app");
  const state = useConnection();
  const hint = state === "reconnecting" ? "reconnectingHint" : state;
  return (
    <span className={classes(styles.connection, styles[state])} role="status" title={t(`connection.${hint}`)}>
      <span className={styles.dot} aria-hidden="true" />
      <span className={state === "live" ? "unseen" : ""}>{t(`connection.${state}`)}</span>
    </span>
  );
}

const THEME_ICONS = { light: "sun", dark: "moon", system: "system" } as const;

function Preferences() {
  const { t, i18n } = useTranslation("app");
  const theme = useTheme();
  const notifying = useNotifications();
  const logOut = useLogOut({ onSuccess: () => window.location.assign("/ui/login") });
  const choose = (isWanted: boolean) =>
    notifying === "denied" ? toast({ title: t("notifyDenied") }) : void askToNotify(isWanted);
  return (
    <Menu
      trigger={<IconButton label={t("theme")} icon={<Icon name={THEME_ICONS[theme]} />} />}
      items={[
        ...THEMES.map((one: Theme) => ({
          key: one,
          icon: THEME_ICONS[one],
          label: t(one),
          isChosen: one === theme,
          onSelect: () => setTheme(one),
        })),
        null,
        ...(Object.keys(LANGUAGES) as Language[]).map((one) => ({
          key: one,
          icon: "language" as const,
          label: LANGUAGES[one],
          isChosen: i18n.language === one,
          onSelect: () => void setLanguage(one),
        })),
        null,
        {
          key: "notify",
          icon: "bell",
          label: t("notify"),
          isChosen: notifying === "on",
          isDisabled: notifying === "impossible",
          onSelect: () => choose(notifying !== "on"),
        },
        { key: "logout", icon: "logout", label: t("logOut"), onSelect: () => logOut.act() },
      ]}
    />
  );
}

