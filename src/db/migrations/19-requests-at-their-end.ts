import { Migration } from "@mikro-orm/migrations";

/**
 * Requests are written once, when they end, so a hold and the evidence of an answer come before their request. Holds and
 * requests take their account and key from rows that the same statement has locked, and neither is ever deleted: checking
 * that again on each insert cost an index lookup and a row lock.
 */
export class WriteRequestsAtTheirEnd extends Migration {
  override up(): void {
    this.addSql(`
      alter table hold
        drop constraint hold_id_fkey, drop constraint hold_account_fkey, drop constraint hold_api_key_id_fkey`);
    this.addSql(`
      alter table inference_request
        drop constraint inference_request_account_fkey, drop constraint inference_request_api_key_id_fkey`);
    this.addSql("alter table request_evidence drop constraint request_evidence_request_id_fkey");
  }
}
