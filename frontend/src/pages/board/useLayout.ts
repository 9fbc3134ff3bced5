// Lays lanes out with ELK, in a worker; only lanes whose nodes or edges changed, each once.
import ElkApi from "elkjs/lib/elk-api.js";
import { useEffect, useMemo, useState } from "react";

import type { Graph } from "./graph";
import { broken, elkGraphOf, type LaneLayout, laneLayoutOf, type Layout, layoutOf, rowsOf, shapeOf } from "./layout";

const MOST_KEPT = 200;

type Elk = InstanceType<typeof ElkApi>;
let elk: Elk | undefined;
const theElk = (): Elk =>
  (elk ??= new ElkApi({
    workerFactory: () => new Worker(new URL("elkjs/lib/elk-worker.min.js", import.meta.url)),
  }));

const laid = new Map<string, LaneLayout>();

/** Where everything is; null until it is known for the first time. A lane that changes stays as it was meanwhile. */
export function useLayout(graph: Graph): Layout | null {
  const shapes = useMemo(() => graph.lanes.map((lane) => shapeOf(lane, graph.edges)), [graph]);
  const wanted = shapes.map((shape) => shape.key).join("\n");
  const [done, setDone] = useState<{ keys: string; layout: Layout } | null>(null);
  if (done?.keys !== wanted && shapes.every((shape) => laid.has(shape.key))) {
    setDone({ keys: wanted, layout: layoutOf(graph, laid) });
  }
  useEffect(() => {
    let isWanted = true;
    const missing = shapes.filter((shape) => !laid.has(shape.key));
    if (!missing.length) return;
    const put = (key: string, layout: LaneLayout) => {
      laid.set(key, layout);
      for (const old of laid.keys()) if (laid.size > MOST_KEPT && old !== key) laid.delete(old);
    };
    const lay = missing.map((shape) =>
      theElk()
        .layout(elkGraphOf(shape))
        .then((result) => put(shape.key, broken(laneLayoutOf(result))))
        .catch(() => put(shape.key, rowsOf(shape))),
    );
    void Promise.all(lay).then(() => {
      if (isWanted) setDone({ keys: wanted, layout: layoutOf(graph, laid) });
    });
    return () => {
      isWanted = false;
    };
    // The graph changes with every status; where things are does not.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [wanted]);
  return done?.layout ?? null;
}
