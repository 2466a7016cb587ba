/** What kind of credential was sent. */
export const VIEWER_KIND = "{ viewer { kind } }";

/** Each new block. */
export const NEW_BLOCKS = "subscription { blockAdded { number } }";
