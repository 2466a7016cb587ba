import { EventCursors } from "../../src/events/event-cursors.ts";

/** Cursors of a deployment that tests build by hand. */
export const TEST_CURSORS = new EventCursors("the secret of the tests' own deployment");
