import { EventCursors } from "../../src/events/event-cursors.ts";

/** The cursors of a deployment, for tests that construct them by hand. */
export const TEST_CURSORS = new EventCursors("the secret of the tests' own deployment");
