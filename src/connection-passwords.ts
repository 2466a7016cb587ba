type Addresses = {
  readonly DATABASE_URL?: string | undefined;
  readonly DATABASE_REPLICA_URL?: string | undefined;
  readonly DATABASE_PASSWORD?: string | undefined;
  readonly REDIS_URL?: string | undefined;
  readonly REDIS_PASSWORD?: string | undefined;
};
type Added = Partial<Record<"DATABASE_URL" | "DATABASE_REPLICA_URL" | "REDIS_URL", string>>;

/** The scheme, the user, and the rest of an address without a password: a URL, except that it may name several hosts. */
const REDIS_PARTS = /^(\w[\w+]*:\/\/)(?:([^:@/?#]*)@)?([^@]*)$/;
const DATABASE_PASSWORD_PART = /^\w+:\/\/[^@/?#]*:[^@/?#]*@|[?&]password=/;

/**
 * The addresses of the database, of its replica and of Redis with their passwords, encoded as URLs require. A replica
 * has the password of the database, unless its address has its own. Throws an `Error` that names the setting for a
 * password without an address, and for an address that already has one.
 */
export function addPasswords(given: Addresses): Added {
  const { DATABASE_URL, DATABASE_REPLICA_URL, DATABASE_PASSWORD, REDIS_URL, REDIS_PASSWORD } = given;
  const added: Added = {};
  if (DATABASE_PASSWORD !== undefined) {
    if (DATABASE_URL === undefined) throw missing("DATABASE");
    if (DATABASE_PASSWORD_PART.test(DATABASE_URL)) throw twice("DATABASE");
    added.DATABASE_URL = withParameter(DATABASE_URL, DATABASE_PASSWORD);
    if (DATABASE_REPLICA_URL !== undefined && !DATABASE_PASSWORD_PART.test(DATABASE_REPLICA_URL))
      added.DATABASE_REPLICA_URL = withParameter(DATABASE_REPLICA_URL, DATABASE_PASSWORD);
  }
  if (REDIS_PASSWORD !== undefined) {
    if (REDIS_URL === undefined) throw missing("REDIS");
    const parts = REDIS_PARTS.exec(REDIS_URL);
    if (!parts) throw twice("REDIS");
    const [, scheme = "", user = "", rest = ""] = parts;
    added.REDIS_URL = `${scheme}${user}:${encodeURIComponent(REDIS_PASSWORD)}@${rest}`;
  }
  return added;
}

/** As a parameter, which each form of the URL has: the user may be one as well. */
function withParameter(url: string, password: string): string {
  return `${url}${url.includes("?") ? "&" : "?"}password=${encodeURIComponent(password)}`;
}

function missing(name: "DATABASE" | "REDIS"): Error {
  return new Error(`${name}_PASSWORD: requires ${name}_URL`);
}

function twice(name: "DATABASE" | "REDIS"): Error {
  return new Error(`${name}_PASSWORD: is set, and ${name}_URL has a password; set one of them`);
}
