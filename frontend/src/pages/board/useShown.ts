// What the cards show beside the board itself: what workers do, what nodes cost, what is looked at.
import { useMemo, useState } from "react";

import { useUsage, useWorkers } from "~/api/queries";
import type { Shown } from "./flow";
import { type Graph, relatedTo } from "./graph";
import type { View } from "./useView";

const NOTHING = new Map<string, never>();

export function useShown(agent: string, graph: Graph, view: View, open: string | null): Shown {
  const isNow = view.at === null;
  const { data: workers } = useWorkers(agent);
  const { data: usage } = useUsage({ agent, by: "node" });
  const doing = useMemo(
    () =>
      isNow
        ? new Map(
            workers?.flatMap((worker): [string, string][] =>
              worker.node_id === null ? [] : [[worker.node_id, worker.doing || worker.step]],
            ),
          )
        : NOTHING,
    [workers, isNow],
  );
  const spent = useMemo(
    () => (isNow ? new Map(usage?.rows.map((row) => [row.key, row.usage])) : NOTHING),
    [usage, isNow],
  );
  const inView = useMemo(() => {
    const { statuses, isFocused } = view;
    const related = isFocused && open !== null ? relatedTo(open, graph.edges) : null;
    if (!related && !statuses.length) return null;
    const isMeant = (id: string, status: string) =>
      (!related || related.has(id)) && (!statuses.length || statuses.includes(status));
    return new Set(
      Array.from(graph.nodes.values())
        .filter((node) => isMeant(node.id, node.status))
        .map((node) => node.id),
    );
  }, [graph, view, open]);
  const [first] = useState(() => new Set(graph.nodes.keys()));
  const added = useMemo(
    () => new Set(isNow ? Array.from(graph.nodes.keys()).filter((id) => !first.has(id)) : []),
    [graph, first, isNow],
  );
  return useMemo(
    () => ({ doing, spent, open, inView, added }),
    [doing, spent, open, inView, added],
  );
}
