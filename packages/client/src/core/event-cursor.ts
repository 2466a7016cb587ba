/** The same text as `schema/examples/event-cursor.graphql`. Gateways always trust it. */
export const EVENT_CURSOR = "query EventCursor {\n  eventCursor\n}";
