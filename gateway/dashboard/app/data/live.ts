import { createClient } from "../../../../packages/client/src/index.ts";

/** Follows subscriptions of the session, whose cookie identifies the caller. */
export const liveClient = createClient({ url: "/graphql" });
