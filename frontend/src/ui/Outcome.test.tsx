// @vitest-environment jsdom
import { render, screen } from "@testing-library/react";
import { beforeAll, expect, test } from "vitest";

import { startTexts } from "~/text/i18n";
import { FailureCause, Incomplete, OptionalBadge } from "./Outcome";

beforeAll(startTexts);

test("the class of a failure is shown with its meaning", () => {
  const { container } = render(<FailureCause failure="checks" />);
  expect(container.textContent).toBe("Cause of the failure: checks failed Its result did not pass its checks.");
});

test("a run that has not failed shows no class", () => {
  expect(render(<FailureCause failure={null} />).container.textContent).toBe("");
});

test("a completed run names the nodes that it left out", () => {
  render(<Incomplete nodes={["limits", "advice"]} />);
  expect(screen.getByText("Completed without 2 nodes of its plan: limits, advice")).toBeTruthy();
  expect(render(<Incomplete nodes={["limits"]} isShort />).container.textContent).toBe("1 node not completed");
  expect(render(<Incomplete nodes={[]} />).container.textContent).toBe("");
});

test("an optional node says what that means", () => {
  render(<OptionalBadge />);
  expect(screen.getByTitle("The plan can be completed without this node.").textContent).toBe("optional");
});
