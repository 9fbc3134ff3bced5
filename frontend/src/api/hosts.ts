// The other machines of the home: listed, invited, steered.
import { useQuery } from "@tanstack/react-query";

import { type ActionOptions, useAction } from "./actions";
import { api, keyed, type Schemas, take } from "./client";
import { ofHome } from "./keys";

export type Host = Schemas["HostInfo"];
export type HostAct = "cordon" | "uncordon" | "drain" | "remove" | "force";
/** `force` removes a host even if something on it cannot be moved. */

const LOOK_MILLISECONDS = 5_000;
const CONCERNS = [ofHome("hosts"), ofHome("entities")];

export const useHosts = () =>
  useQuery({
    queryKey: ofHome("hosts"),
    queryFn: ({ signal }) => take(api.GET("/hosts", { signal })),
    refetchInterval: LOOK_MILLISECONDS,
  });

export const useInviteHost = (options?: ActionOptions<Schemas["InvitationView"]>) =>
  useAction(
    (body: Schemas["InviteHostRequest"], key) =>
      take(api.POST("/hosts/invitations", { body, params: { header: keyed(key) } })),
    () => CONCERNS,
    options,
  );

export const useSteerHost = () =>
  useAction(
    ({ host, act }: { host: string; act: HostAct }, key) => {
      const header = keyed(key);
      const force = act === "force";
      return force || act === "remove"
        ? take(api.DELETE("/hosts/{host}", { params: { path: { host }, query: { force }, header } }))
        : take(api.POST("/hosts/{host}/{act}", { params: { path: { host, act }, header } }));
    },
    () => CONCERNS,
  );
