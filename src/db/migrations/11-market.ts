import { Migration } from "@mikro-orm/migrations";

/** The market of agent tokens from its logs: one row per event, with its position in the chain. */
export class CreateMarket extends Migration {
  override up(): void {
    this.addSql(`
      create table market_event (
        chain_id bigint not null,
        market text not null,
        block_number bigint not null,
        log_index integer not null,
        block_hash text not null,
        transaction_hash text not null,
        kind text not null check (kind in ('fulfilled', 'deposited', 'withdrawn', 'minted', 'fees-withdrawn',
          'partner-fees-withdrawn', 'fee-rate-set', 'partner-rate-set', 'token-set')),
        account text not null,
        other text,
        token_id numeric(78,0),
        amount numeric(78,0),
        previous numeric(78,0),
        currency text,
        seen_at timestamptz(3) not null default now(),
        primary key (chain_id, block_number, log_index)
      )`);
    this.addSql(
      "create index market_event_kind on market_event (chain_id, market, kind, block_number, log_index)",
    );
    this.addSql(
      "create index market_event_account on market_event (chain_id, market, account, block_number, log_index)",
    );
    this.addSql(`
      create index market_event_other on market_event (chain_id, market, other, block_number, log_index)
      where other is not null`);
    this.addSql(`
      create index market_event_token on market_event (chain_id, market, token_id, block_number, log_index)
      where token_id is not null`);
  }
}
