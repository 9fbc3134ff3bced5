import { expect, test } from "vitest";

import { fetched } from "./fetched";

function around() {
  const did: string[] = [];
  const reach = async () => void did.push("reach");
  const addStyles = async (address: string) => void did.push(address);
  return { did, surroundings: { reach, addStyles } };
}

function failingWith(...messages: string[]) {
  return async () => {
    const message = messages.shift();
    if (message) throw new Error(message);
    return "the part";
  };
}

test("a part that is there is fetched once", async () => {
  const { did, surroundings } = around();
  expect(await fetched(failingWith(), surroundings)).toBe("the part");
  expect(did).toEqual([]);
});

test("a part is fetched again when the gateway is back, with its styles", async () => {
  const { did, surroundings } = around();
  expect(await fetched(failingWith("Failed to fetch"), surroundings)).toBe("the part");
  expect(did).toEqual(["reach"]);
  const noStyles = "Unable to preload CSS for http://127.0.0.1:1/ui/assets/a.css";
  expect(await fetched(failingWith(noStyles), surroundings)).toBe("the part");
  expect(did).toEqual(["reach", "reach", "http://127.0.0.1:1/ui/assets/a.css"]);
});

test("a part that is gone fails", async () => {
  const { surroundings } = around();
  await expect(fetched(failingWith("gone", "gone"), surroundings)).rejects.toThrow("gone");
});
