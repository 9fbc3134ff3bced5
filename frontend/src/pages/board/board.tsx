// The work board: stages as lanes, nodes as cards, live; a node's panel beside it.
import { useCallback, useEffect, useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { Link, useLocation, useNavigate, useParams } from "react-router";

import { useBoard } from "~/api/queries";
import { useTraffic } from "~/api/traffic";
import { Drawer, Empty, Loaded, Page, paths, Skeleton, useAgentId, useIsNarrow, useKey } from "~/ui";
import styles from "./board.module.css";
import { BoardTable } from "./BoardTable";
import { Canvas } from "./Canvas";
import { type BoardView, graphOf, heldBack, messageEdges } from "./graph";
import { History } from "./History";
import { NodePanel } from "./panel/NodePanel";
import { LATEST, Toolbar } from "./Toolbar";
import { useLayout } from "./useLayout";
import { useShown } from "./useShown";
import { useView } from "./useView";


export default function Board() {
  const { t } = useTranslation("board");
  const agent = useAgentId();
  const now = useBoard(agent);
  return (
    <Page title={t("title")} isWhole>
      <Loaded query={now} lines={8}>
        {(board) =>
          board.nodes.length || board.stages.length ? (
            <Shown now={board} />
          ) : (
            <Nothing />
          )
        }
      </Loaded>
    </Page>
  );
}

function Nothing() {
  const { t } = useTranslation("board");
  return (
    <Empty icon="board" title={t("emptyTitle")}>
      {t("emptyAbout")}
    </Empty>
  );
}

/** The board as it is or was, with the node that the address names. */
function Shown({ now }: { now: BoardView }) {
  const { t } = useTranslation("board");
  const agent = useAgentId();
  const [view, setView] = useView();
  const at = view.at === null ? null : Math.min(view.at, now.seq);
  const earlier = useBoard(agent, at === null || at === now.seq ? {} : { at });
  const board = earlier.data ?? now;
  const graph = useMemo(() => graphOf(board), [board]);
  const [open, setOpen] = useOpenNode(board);
  const shown = useShown(agent, graph, view, open);
  const { data: traffic } = useTraffic(agent, view.hasMessages);
  const messages = useMemo(
    () => (view.hasMessages ? messageEdges(board.nodes, traffic ?? []) : []),
    [board, traffic, view.hasMessages],
  );
  const layout = useLayout(graph);
  const [wanted, setWanted] = useState<{ node: string } | null>(open ? { node: open } : null);
  const isNarrow = useIsNarrow();
  const close = useCallback(() => setOpen(null), [setOpen]);
  const find = (node: string) => {
    setWanted({ node });
    if (!isNarrow) setOpen(node);
  };
  useKey("Escape", t("closeNode"), close, { isOn: open !== null });
  const canvas = !graph.lanes.length ? (
    <Nothing />
  ) : layout ? (
    <Canvas {...{ graph, layout, messages, shown, wanted }} />
  ) : (
    <Skeleton lines={8} />
  );
  return (
    <div className={styles.board}>
      <Toolbar
        graph={graph}
        view={view}
        isNodeOpen={open !== null}
        onView={setView}
        onFound={find}
      />
      {at === null && <HeldBack board={now} />}
      {at !== null && (
        <History
          at={at}
          last={now.seq}
          onAt={(wish) => setView({ at: wish === now.seq ? LATEST : wish })}
        />
      )}
      <div className={styles.split}>
        <div className={styles.main}>
          {view.as === "graph" ? canvas : <BoardTable graph={graph} shown={shown} />}
        </div>
        {open !== null && !isNarrow && (
          <aside className={styles.panel} aria-label={t("panel")}>
            <NodePanel key={open} node={open} onClose={close} />
          </aside>
        )}
      </div>
      {isNarrow && (
        <Drawer isOpen={open !== null} onClose={close} label={t("panel")} side="right">
          {open !== null && <NodePanel key={open} node={open} onClose={close} />}
        </Drawer>
      )}
    </div>
  );
}

/** That ready nodes wait because as many run as may. */
function HeldBack({ board }: { board: BoardView }) {
  const { t } = useTranslation("board");
  const count = heldBack(board);
  if (!count) return null;
  return (
    <p className={styles.held} role="note">
      {t("heldBack", { count, most: board.max_concurrent })}{" "}
      <Link to={paths.settings()}>{t("heldBackSetting")}</Link>
    </p>
  );
}

/** The node of the address, which may name it by its id or its name; null: none is open. */
function useOpenNode(board: BoardView): [string | null, (node: string | null) => void] {
  const agent = useAgentId();
  const { node: named } = useParams();
  const navigate = useNavigate();
  const { search } = useLocation();
  const found = board.nodes.find((node) => node.id === named || node.name === named);
  const open = named === undefined ? null : (found?.id ?? named);
  const set = useCallback(
    (node: string | null) => void navigate({ pathname: paths.board(agent, node ?? ""), search }),
    [agent, navigate, search],
  );
  useEffect(() => {
    if (found && named !== found.id) void navigate({ pathname: paths.board(agent, found.id), search }, { replace: true });
  }, [agent, found, named, navigate, search]);
  return [open, set];
}
