import { Migration } from "@mikro-orm/migrations";

/**
 * Answers that are returned to equal requests. `name` and `sealed` can only be derived and decrypted with the secret
 * of the credential that made the request.
 */
export class CacheAnswers extends Migration {
  override up(): void {
    this.addSql(`
      create table cached_answer (
        account text not null,
        name text not null,
        sealed bytea not null,
        size_bytes integer not null,
        created_at timestamptz not null,
        expires_at timestamptz not null,
        primary key (account, name)
      )`);
    this.addSql(
      "create index cached_answer_age on cached_answer (account, created_at desc) include (size_bytes)",
    );
    this.addSql("create index cached_answer_expiry on cached_answer (expires_at)");
  }
}
