import { Migration } from "@mikro-orm/migrations";

/**
 * The proof that a provider gave for an answer when it was asked to: what it signed, who is seen to have signed it, and
 * who should have.
 */
export class KeepEvidence extends Migration {
  override up(): void {
    this.addSql(`
      create table request_evidence (
        request_id text primary key references inference_request (id),
        provider text not null,
        answer_id text,
        verdict text not null check (verdict in ('verified', 'other_signer', 'forged', 'malformed', 'missing',
          'unreachable', 'not_acknowledged')),
        signed_text text,
        signature text,
        signer text,
        expected_signer text,
        checked_at timestamptz(3) not null default now()
      )`);
  }
}
