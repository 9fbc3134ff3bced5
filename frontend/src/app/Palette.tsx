// The command palette: to any agent, anybody in it, any page, and what can be done, by typing.
import { useQueryClient } from "@tanstack/react-query";
import { Command } from "cmdk";
import { Dialog } from "radix-ui";
import { useTranslation } from "react-i18next";
import { useMatch, useNavigate } from "react-router";

import { useMay } from "~/api/access";
import { useSteerAgent } from "~/api/actions";
import { useAgent, useOverview } from "~/api/queries";
import { refresh } from "~/api/stretches";
import { Icon, type IconName, paths } from "~/ui";
import { AGENT_PAGES, homePages } from "~/ui/paths";
import styles from "./Palette.module.css";
import { rank } from "./rank";
import { setTheme, THEMES } from "./theme";

export default function Palette({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation("app");
  const agent = useMatch("/agents/:agent/*")?.params.agent;
  return (
    <Dialog.Root open onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay className={styles.veil} />
        <Dialog.Content className={styles.palette} aria-describedby={undefined}>
          <Dialog.Title className="unseen">{t("palette")}</Dialog.Title>
          <Command label={t("palette")} loop filter={rank}>
            <Command.Input className={styles.input} placeholder={t("paletteHint")} />
            <Command.List className={styles.list}>
              <Command.Empty className={styles.empty}>{t("paletteNothing")}</Command.Empty>
              {agent && <AgentItems agent={agent} onClose={onClose} />}
              <TeamItems onClose={onClose} />
              <HomeItems onClose={onClose} />
            </Command.List>
          </Command>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

interface Closing {
  onClose: () => void;
}

interface ItemProps {
  name: string;
  about?: string;
  icon: IconName;
  /** Tells it from others of the same name. */
  id: string;
  onSelect: () => void;
}

function Item({ name, about, icon, id, onSelect }: ItemProps) {
  return (
    <Command.Item
      className={styles.item}
      value={`${name} ${id}`}
      keywords={about ? [about] : []}
      onSelect={onSelect}
    >
      <Icon name={icon} />
      <span className={styles.name}>{name}</span>
      {about && <span className={styles.about}>{about}</span>}
    </Command.Item>
  );
}

function useGo(onClose: () => void): (path: string) => void {
  const navigate = useNavigate();
  return (path) => {
    onClose();
    void navigate(path);
  };
}

function AgentItems({ agent, onClose }: Closing & { agent: string }) {
  const { t } = useTranslation("app");
  const go = useGo(onClose);
  const steer = useSteerAgent(agent);
  const { data } = useAgent(agent);
  const mayControl = useMay("control");
  const name = data?.name ?? agent;
  const act = (one: "pause" | "resume" | "stop") => () => {
    onClose();
    steer.act(one);
  };
  return (
    <Command.Group heading={name} className={styles.group}>
      {AGENT_PAGES.map(([page, icon]) => (
        <Item key={page} id={`page ${page}`} name={t(page)} icon={icon} onSelect={() => go(paths[page](agent))} />
      ))}
      {mayControl && (
        <>
          <Item id="act" name={t("pause", { name })} icon="pause" onSelect={act("pause")} />
          <Item id="act" name={t("resume", { name })} icon="play" onSelect={act("resume")} />
          <Item id="act" name={t("stop", { name })} icon="stop" onSelect={act("stop")} />
        </>
      )}
    </Command.Group>
  );
}

function TeamItems({ onClose }: Closing) {
  const { t } = useTranslation("app");
  const go = useGo(onClose);
  const { data: teams = [] } = useOverview();
  return (
    <Command.Group heading={t("agents")} className={styles.group}>
      {teams.map((team) => (
        <Item
          key={team.id}
          id={team.id}
          name={team.name}
          about={team.goal}
          icon="star"
          onSelect={() => go(paths.agent(team.id))}
        />
      ))}
      {teams.flatMap((team) =>
        team.workers.map((worker) => (
          <Item
            key={worker.address}
            id={worker.address}
            name={worker.name}
            about={`${worker.role} · ${team.name}`}
            icon="user"
            onSelect={() => go(paths.entity(team.id, worker.name))}
          />
        )),
      )}
    </Command.Group>
  );
}

function HomeItems({ onClose }: Closing) {
  const { t } = useTranslation("app");
  const go = useGo(onClose);
  const client = useQueryClient();
  const mayControl = useMay("control");
  const THEME_ICONS = { light: "sun", dark: "moon", system: "system" } as const;
  return (
    <Command.Group heading={t("pages")} className={styles.group}>
      <Item id="home" name={t("allAgents")} icon="home" onSelect={() => go(paths.home)} />
      {mayControl && (
        <Item id="new" name={t("newAgent")} icon="plus" onSelect={() => go(paths.newAgent)} />
      )}
      {homePages(mayControl).map(([name, icon, path]) => (
        <Item key={name} id={name} name={t(name)} icon={icon} onSelect={() => go(path)} />
      ))}
      <Item id="plans" name={t("plans")} icon="board" onSelect={() => go(paths.plans())} />
      {THEMES.map((theme) => (
        <Item
          key={theme}
          id={theme}
          name={`${t("theme")}: ${t(theme)}`}
          icon={THEME_ICONS[theme]}
          onSelect={() => {
            setTheme(theme);
            onClose();
          }}
        />
      ))}
      <Item
        id="reload"
        name={t("reload")}
        icon="retry"
        onSelect={() => {
          void refresh(client, []);
          onClose();
        }}
      />
    </Command.Group>
  );
}
