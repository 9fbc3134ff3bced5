// The models that may be named, of what `GET /models` says of its providers. Pure.

/** Return `provider/model` of all providers that can be used. */
export function modelNames(providers: readonly Record<string, unknown>[]): string[] {
  return providers.flatMap((provider) => {
    const { name, models, default_model: standard } = provider;
    if (typeof name !== "string" || provider["usable"] === false) return [];
    const listed: unknown[] = Array.isArray(models) && models.length ? models : [standard];
    return listed.filter((one) => typeof one === "string").map((one) => `${name}/${one}`);
  });
}
