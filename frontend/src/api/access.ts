// Who may do what: this browser's scope, the tokens and browser logins of the home, the audit of its calls.
import { keepPreviousData, queryOptions, useQuery } from "@tanstack/react-query";

import { type ActionOptions, useAction } from "./actions";
import { api, keyed, type Schemas, take } from "./client";
import { ofHome } from "./keys";

export type Scope = Schemas["WhoAmIView"]["scope"];
export type Token = Schemas["TokenView"];
export type NewToken = Schemas["NewTokenView"];
export type BrowserLogin = Schemas["BrowserLoginView"];
export type AuditedCall = Schemas["AuditedCallView"];

/** The scopes, each with all rights of those before it. */
export const SCOPES: readonly Scope[] = ["read", "talk", "control"];
const KEPT_MILLISECONDS = 60_000;

/** Whether a scope has the rights of another one. */
export const includes = (scope: Scope, wanted: Scope): boolean =>
  SCOPES.indexOf(scope) >= SCOPES.indexOf(wanted);

export const whoAmIQuery = queryOptions({
  queryKey: ofHome("whoami"),
  queryFn: ({ signal }) => take(api.GET("/whoami", { signal })),
  staleTime: KEPT_MILLISECONDS,
});
export const useWhoAmI = () => useQuery(whoAmIQuery);

/** Whether this browser has the rights of a scope; false until its own scope is known. */
export function useMay(wanted: Scope): boolean {
  const { data } = useWhoAmI();
  return data !== undefined && includes(data.scope, wanted);
}

export const useTokens = () =>
  useQuery({
    queryKey: ofHome("tokens"),
    queryFn: ({ signal }) => take(api.GET("/tokens", { signal })),
  });

export const useAddToken = (options?: ActionOptions<NewToken>) =>
  useAction(
    (body: Schemas["CreateTokenRequest"], key) =>
      take(api.POST("/tokens", { body, params: { header: keyed(key) } })),
    () => [ofHome("tokens")],
    options,
  );

/** Give a token another secret; the old one is valid for `grace_seconds` more. */
export const useRotateToken = (options?: ActionOptions<NewToken>) =>
  useAction(
    ({ name, grace_seconds = 0 }: { name: string; grace_seconds?: number }, key) =>
      take(
        api.POST("/tokens/{name}/rotate", {
          body: { grace_seconds },
          params: { path: { name }, header: keyed(key) },
        }),
      ),
    () => [ofHome("tokens")],
    options,
  );

export const useRevokeToken = (options?: ActionOptions<Token>) =>
  useAction(
    (name: string, key) =>
      take(api.DELETE("/tokens/{name}", { params: { path: { name }, header: keyed(key) } })),
    () => [ofHome("tokens"), ofHome("logins")],
    options,
  );

export const useBrowserLogins = () =>
  useQuery({
    queryKey: ofHome("logins"),
    queryFn: ({ signal }) => take(api.GET("/logins", { signal })),
  });

export const useEndLogin = (options?: ActionOptions<BrowserLogin>) =>
  useAction(
    (login: string, key) =>
      take(
        api.DELETE("/logins/{login}", { params: { path: { login }, header: keyed(key) } }),
      ),
    () => [ofHome("logins")],
    options,
  );

/** The last calls of the API, the oldest first; `refused`: only those that were refused. */
export const useAudit = (refused: boolean, limit: number) =>
  useQuery({
    queryKey: ofHome("audit", refused, limit),
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      take(api.GET("/audit", { params: { query: { refused, limit } }, signal })),
  });
