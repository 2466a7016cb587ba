import pg, { type ClientConfig } from "pg";

/** A `pg` configuration with parameters that each session begins with. */
export type SessionConfig = ClientConfig & { readonly session?: Readonly<Record<string, string>> };

/**
 * What the product relies on, whatever the server, the database or the role has as its default: `pg` and the ORM read
 * only ISO dates, and at a higher isolation concurrent statements on one account fail.
 */
export const SESSION = { DateStyle: "ISO", default_transaction_isolation: "read committed" } as const;

/** An internal of a `pg` client that its types do not declare: the parameters with which it opens a session. */
type Startup = { getStartupConf(): Record<string, string> };

/** A `pg` client whose session begins with the parameters of its configuration. */
export class SessionClient extends pg.Client {
  readonly #session: Readonly<Record<string, string>>;

  constructor(config: SessionConfig = {}) {
    super(config);
    this.#session = config.session ?? {};
  }

  /** Overrides a method that is not declared. */
  getStartupConf(): Record<string, string> {
    const { getStartupConf } = pg.Client.prototype as unknown as Startup;
    return { ...getStartupConf.call(this), ...this.#session };
  }
}
