import { Migration } from "@mikro-orm/migrations";

/** The TEE evidence that a provider gave for an answer: the signed text, its actual signer and the expected one. */
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
