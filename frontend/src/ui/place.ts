// Where one is, as the address says.
import { useParams } from "react-router";

/** The agent of the page, as the address names it: by its id or its name. */
export function useAgentId(): string {
  const { agent } = useParams();
  if (agent === undefined) throw new Error("this page is of no agent");
  return agent;
}
