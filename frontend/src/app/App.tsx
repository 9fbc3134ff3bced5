// The page as a whole: what all parts of it share.
import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { useState } from "react";
import { RouterProvider } from "react-router/dom";

import { ApiError, isUnauthenticated } from "~/api/client";
import { toast } from "~/ui";
import { TooltipProvider } from "~/ui/overlays";
import { Toasts } from "~/ui/toasts";
import { makeRouter } from "./routes";

const ATTEMPTS = 3;

/** Lead to the login page, which leads back here. */
function toLogin(): void {
  const { pathname, search } = window.location;
  if (pathname === "/ui/login") return;
  window.location.assign(`/ui/login?next=${encodeURIComponent(pathname + search)}`);
}

function makeClient(): QueryClient {
  const onRefusal = (error: unknown) => {
    if (isUnauthenticated(error)) toLogin();
  };
  return new QueryClient({
    queryCache: new QueryCache({ onError: onRefusal }),
    mutationCache: new MutationCache({
      onError: (error, _input, _context, mutation) => {
        onRefusal(error);
        if (!mutation.meta?.["isQuiet"]) toast({ title: error.message, tone: "bad", seconds: 12 });
      },
    }),
    defaultOptions: {
      queries: {
        staleTime: 5_000,
        networkMode: "always", // a browser without a network still reaches this machine
        refetchOnWindowFocus: false, // what changes is heard of
        retry: (failures, error) =>
          failures < ATTEMPTS && !(error instanceof ApiError && !error.isPassing),
      },
    },
  });
}

export function App() {
  const [client] = useState(makeClient);
  const [router] = useState(makeRouter);
  return (
    <QueryClientProvider client={client}>
      <TooltipProvider>
        <RouterProvider router={router} />
        <Toasts />
      </TooltipProvider>
    </QueryClientProvider>
  );
}
