import { expect, test } from "vitest";
import { localTime } from "../../../gateway/dashboard/app/data/list/list-search.ts";

test.each(["2026-13-01T00:00", "2026-01-45T10:00", "2026-01-01T99:99", "2026-01-01T10:00 or so", "today"])(
  "%s in a URL is left out: it is not a time",
  (time) => {
    expect(localTime().parse(time)).toBeUndefined();
  },
);

test.each(["2026-01-31T10:00", "2026-01-31T10:00:30"])("%s in a URL is a time", (time) => {
  expect(localTime().parse(time)).toBe(time);
});
