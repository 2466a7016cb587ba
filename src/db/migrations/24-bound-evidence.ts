import { Migration } from "@mikro-orm/migrations";

/**
 * What a signature is about: the form of its text, whether that has the hashes of the bytes that were sent and received,
 * and these hashes. Evidence of earlier versions has none of them: only its signer was checked. The index finds the
 * newest evidence of each provider. Keys may require evidence of the providers that they use.
 */
export class BindEvidence extends Migration {
  override up(): void {
    this.addSql(`
      alter table request_evidence
        add column text_form text check (text_form in ('hashes', 'image_hashes', 'centralized', 'named_model')),
        add column request_bound boolean,
        add column response_bound boolean,
        add column request_hash text,
        add column response_hash text,
        drop constraint request_evidence_verdict_check,
        add constraint request_evidence_verdict_check check (verdict in ('verified', 'unbound',
          'unsupported_form', 'other_signer', 'forged', 'malformed', 'missing', 'unreachable',
          'not_acknowledged')) not valid`);
    this.addSql(`
      create index request_evidence_provider on request_evidence (provider, checked_at desc)
        where verdict <> 'unreachable'`);
    this.addSql(`
      alter table api_key
        add column provider_evidence text check (provider_evidence in ('bound', 'attested'))`);
  }
}
