// Where one is, as the address says.
import { useParams, useSearchParams } from "react-router";

/** The agent of the page, as the address names it: by its id or its name. */
export function useAgentId(): string {
  const { agent } = useParams();
  if (agent === undefined) throw new Error("this page is of no agent");
  return agent;
}

type Values = Readonly<Record<string, string | null | undefined>>;

/** The query of the address, and what changes some of its values; an empty one is taken out. */
export function useQuery(): [URLSearchParams, (values: Values, isStep?: boolean) => void] {
  const [query, setQuery] = useSearchParams();
  const change = (values: Values, isStep = false) => {
    // The address itself: two changes may come before the first one is rendered.
    const next = new URLSearchParams(window.location.search);
    for (const [name, value] of Object.entries(values)) {
      if (value) next.set(name, value);
      else next.delete(name);
    }
    setQuery(next, { replace: !isStep });
  };
  return [query, change];
}
