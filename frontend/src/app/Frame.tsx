// The shell: sidebar, top bar, the page, and what can come above it.
import { Suspense, useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { Outlet, useLocation, useMatch, useNavigate } from "react-router";

import { useMay } from "~/api/access";
import { ApiError } from "~/api/client";
import { useAgent, useInbox } from "~/api/queries";
import { AgentLive, HomeLive } from "~/live/Live";
import { Drawer, paths, useAgentId, useKey } from "~/ui";
import { fetchedPart } from "~/ui/fetched";
import { Keys } from "~/ui/keys";
import { AGENT_PAGES, homePages } from "~/ui/paths";
import { setUnread } from "~/ui/title";
import styles from "./Frame.module.css";
import { Lost } from "./Lost";
import { NotFound } from "./PageFrame";
import { Sidebar } from "./Sidebar";
import { TopBar } from "./TopBar";

const Palette = fetchedPart(() => import("./Palette"));
const Questions = fetchedPart(() => import("~/pages/questions/questions"));

export function Frame() {
  const { t } = useTranslation("app");
  const [isPaletteOpen, setPaletteOpen] = useState(false);
  const [isSidebarOpen, setSidebarOpen] = useState(false);
  const { pathname } = useLocation();
  const [lastPath, setLastPath] = useState(pathname);
  if (lastPath !== pathname) {
    setLastPath(pathname);
    setSidebarOpen(false);
  }
  useKey("Mod+k", t("palette"), () => setPaletteOpen(true), { isForTyping: true });
  useUnreadTitle();
  return (
    <HomeLive>
      <div className={styles.frame}>
        <a href="#content" className={styles.skip}>
          {t("skip")}
        </a>
        <aside className={styles.sidebar} aria-label={t("sidebar")}>
          <Sidebar />
        </aside>
        <Drawer isOpen={isSidebarOpen} onClose={() => setSidebarOpen(false)} label={t("sidebar")}>
          <Sidebar />
        </Drawer>
        <div className={styles.main}>
          <TopBar
            onSidebar={() => setSidebarOpen(true)}
            onPalette={() => setPaletteOpen(true)}
          />
          <Lost />
          <Suspense>
            <Questions />
          </Suspense>
          <main id="content" className={styles.content} tabIndex={-1}>
            <Outlet />
          </main>
        </div>
      </div>
      <Suspense>
        {isPaletteOpen && <Palette onClose={() => setPaletteOpen(false)} />}
      </Suspense>
      <GoKeys />
      <Keys />
    </HomeLive>
  );
}

/** The keys that lead to pages. */
function GoKeys() {
  const { t } = useTranslation("app");
  const agent = useMatch("/agents/:agent/*")?.params.agent;
  const mayControl = useMay("control");
  return (
    <>
      <GoKey keys="g a" label={t("allAgents")} path={paths.home} />
      {mayControl && <GoKey keys="g n" label={t("newAgent")} path={paths.newAgent} />}
      {homePages(mayControl).map(([name, , path, keys]) => (
        <GoKey key={name} keys={keys} label={t(name)} path={path} />
      ))}
      {agent && <GoKey keys="g c" label={t("coordinator")} path={paths.agent(agent)} />}
      {agent &&
        AGENT_PAGES.map(([name, , keys]) => (
          <GoKey key={name} keys={keys} label={t(name)} path={paths[name](agent)} />
        ))}
    </>
  );
}

function GoKey({ keys, label, path }: { keys: string; label: string; path: string }) {
  const navigate = useNavigate();
  useKey(keys, label, () => void navigate(path));
  return null;
}

/** What is round the pages of one agent. */
export function AgentFrame() {
  const agent = useAgentId();
  const { error } = useAgent(agent);
  if (error instanceof ApiError && error.status === 404) return <NotFound />;
  return (
    <AgentLive key={agent} agent={agent}>
      <Outlet />
    </AgentLive>
  );
}

function useUnreadTitle(): void {
  const { data } = useInbox();
  const unread = data?.reduce((sum, one) => sum + one.unread, 0) ?? 0;
  useEffect(() => setUnread(unread), [unread]);
}
