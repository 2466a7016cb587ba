import type { Queries } from "../db/database.ts";
import type { EventFilter } from "./bus.ts";
import type { DomainEvent, Topic, TopicPayloads } from "./topics.ts";

/** An event to append. `data` is plain JSON: amounts are decimal strings, never `bigint`. */
export type NewEvent<T extends Topic = Topic> = {
  [K in T]: { readonly topic: K; readonly subject: string; readonly data: TopicPayloads[K] };
}[T];

/** How long an event can be replayed. */
export const KEPT_HOURS = 24;

/**
 * Writes events in the transaction that causes them: they are published if and only if it commits, in the order
 * given. Events of one subject are published in commit order provided that the transaction already holds what it
 * changes of that subject (its row, by an update or a lock): append last. A hot statement may insert topic, subject
 * and data into `outbox` itself.
 */
export async function appendEvents(tx: Queries, events: readonly NewEvent[]): Promise<void> {
  if (events.length > 0) await tx.rows(APPEND, [JSON.stringify(events)]);
}

/** What a resuming reader gets: past events, and the range of positions from which it may resume. */
export type ReplayWindow<T extends Topic = Topic> = {
  /** At most `limit` events, in order of position. */
  readonly events: readonly DomainEvent<T>[];
  /** The greatest position that can be read here: every event up to it is committed. 0 when there is none. */
  readonly newest: bigint;
  /** The first and last position from which readers of this topic may resume. */
  readonly oldestCursor: bigint;
  readonly newestCursor: bigint;
};

/** At most `limit` published events after position `after`, and the window's positions, from one snapshot. */
export async function readReplayWindow<T extends Topic>(
  queries: Queries,
  filter: EventFilter<T>,
  after: bigint,
  limit: number,
): Promise<ReplayWindow<T>> {
  const parameters = [filter.topic, after.toString(), limit];
  const rows = await (filter.subject === undefined
    ? queries.rows<PastRow>(READ_TOPIC, parameters)
    : queries.rows<PastRow>(READ_SUBJECT, [...parameters, filter.subject]));
  const [first] = rows;
  return {
    events: rows.filter(({ id }) => id !== null).map(toEvent) as DomainEvent<T>[],
    newest: BigInt(first?.newest ?? 0),
    oldestCursor: BigInt(first?.oldest_cursor ?? 0),
    newestCursor: BigInt(first?.newest_cursor ?? 0),
  };
}

/** The newest `limit` events published in the last `seconds` seconds, in order. */
export async function readRecent(
  queries: Queries,
  seconds: number,
  limit: number,
): Promise<readonly DomainEvent[]> {
  const rows = await queries.rows<EventRow>(READ_RECENT, [limit, seconds]);
  return rows.map(toEvent).toReversed();
}

/** The greatest position ever published, whether or not its event is still stored. 0 when there is none. */
export async function lastPublished(queries: Queries): Promise<bigint> {
  const [row] = await queries.rows<{ last: string }>(LAST);
  return BigInt(row?.last ?? 0);
}

/** The position from which a reader of `topic` who knows everything committed so far may resume. */
export async function readPosition(queries: Queries, topic: Topic): Promise<bigint> {
  const [row] = await queries.rows<{ position: string }>(POSITION, [topic]);
  return BigInt(row?.position ?? 0);
}

/**
 * Assigns the next positions to at most `limit` committed events, in the order in which they were written, and returns
 * them. The caller must hold the relay's lock. A position is never assigned twice, even after a rollback.
 */
export async function takePositions(tx: Queries, limit: number): Promise<readonly DomainEvent[]> {
  const events = (await tx.rows<EventRow>(TAKE_POSITIONS, [limit])).map(toEvent);
  return events.sort((one, other) => (one.position < other.position ? -1 : 1));
}

/** Advances the sequence, so that the next position is greater than `position`. */
export async function skipPositions(queries: Queries, position: bigint): Promise<void> {
  await queries.rows(SKIP_POSITIONS, [position.toString()]);
}

/** Whether events wait to be published. */
export async function hasUnpublished(queries: Queries): Promise<boolean> {
  return (await queries.rows(UNPUBLISHED)).length > 0;
}

/** Age in seconds of the oldest event that waits to be published; 0 when none waits. */
export async function oldestUnpublishedSeconds(queries: Queries): Promise<number> {
  const [row] = await queries.rows<{ age: string | null }>(
    `select extract(epoch from clock_timestamp() - at)::text as age from outbox
     where position is null order by id limit 1`,
  );
  return Math.max(0, Number(row?.age ?? 0));
}

/** How many events wait to be published, counted to `limit` in their index. */
export async function countUnpublished(queries: Queries, limit: number): Promise<number> {
  const [row] = await queries.rows<{ count: number }>(COUNT_UNPUBLISHED, [limit]);
  return row?.count ?? 0;
}

/** Deletes at most `limit` published events older than 24 h and returns the count. */
export async function forgetEvents(queries: Queries, limit: number): Promise<number> {
  const [row] = await queries.rows<{ gone: string }>(FORGET, [limit]);
  return Number(row?.gone ?? 0);
}

/** A row of the outbox, as `EVENT_COLUMNS` reads it. */
export type EventRow = {
  readonly id: string;
  readonly position: string;
  readonly topic: Topic;
  readonly subject: string;
  readonly at_ms: string;
  readonly data: string;
};

/** Without matching events, there is one row whose event columns are null. */
type PastRow = EventRow & {
  readonly newest: string;
  readonly oldest_cursor: string;
  readonly newest_cursor: string;
};

// As text: the driver returns int8 as text anyway, and `jsonb` is parsed once, in `toEvent`.
export const EVENT_COLUMNS = `event_id::text as id, position::text, topic, subject, data::text as data,
  floor(extract(epoch from at) * 1000)::bigint::text as at_ms`;

const COUNT_UNPUBLISHED = `
  select count(*)::int as count from (select 1 from outbox where position is null limit $1::int) waiting`;

const APPEND = `
  insert into outbox (topic, subject, data)
  select topic, subject, data
  from rows from (jsonb_to_recordset($1::text::jsonb) as (topic text, subject text, data jsonb))
    with ordinality as event (topic, subject, data, n)
  order by n`;

const NEWEST = "coalesce((select max(position) from outbox where position is not null), 0)";
const FORGOTTEN = "coalesce((select position from outbox_forgotten where topic = $1), 0)";

// One statement, because thousands of readers reconnect at once and the embedded database runs in this process: five
// statements for each resuming reader took two fifths of the total time.
const readPastOf = (filter: string) => `
  select bounds.*, ${EVENT_COLUMNS}
  from (
    select ${NEWEST}::text as newest, ${FORGOTTEN}::text as oldest_cursor,
      (select case when is_called then last_value else 0 end from outbox_position)::text as newest_cursor
  ) as bounds
  left join lateral (
    select * from outbox
    where ${filter} and position > $2::bigint order by position limit $3::integer
  ) as event on true
  order by event.position`;

const READ_TOPIC = readPastOf("topic = $1");

const READ_SUBJECT = readPastOf("topic = $1 and subject = $4");

const READ_RECENT = `
  select ${EVENT_COLUMNS} from (
    select * from outbox where position is not null order by position desc limit $1::integer
  ) as newest
  where at > clock_timestamp() - make_interval(secs => $2::integer) order by newest.position desc`;

const LAST = `
  select greatest(${NEWEST}, coalesce((select max(position) from outbox_forgotten), 0))::text as last`;

const POSITION = `select greatest(${NEWEST}, ${FORGOTTEN})::text as position`;

// Rows and positions are paired by rank: SQL does not define the order in which it calls nextval for rows.
const TAKE_POSITIONS = `
  with batch as (
    select id, row_number() over (order by id) as n
    from (select id from outbox where position is null order by id limit $1::integer) as waiting
  ), assigned as (
    select position, row_number() over (order by position) as n
    from (select nextval('outbox_position') as position from generate_series(1, (select count(*) from batch))) as next
  )
  update outbox set position = assigned.position
  from batch join assigned using (n) where outbox.id = batch.id
  returning ${EVENT_COLUMNS.replace("position::text", "outbox.position::text")}`;

const SKIP_POSITIONS = `
  select setval('outbox_position', $1::bigint)::text from outbox_position where last_value < $1::bigint`;

const UNPUBLISHED = "select 1 from outbox where position is null limit 1";

const FORGET = `
  with gone as (
    delete from outbox where id in (
      select id from (
        select id, at from outbox where position is not null order by position limit $1::integer
      ) as oldest
      where at < now() - interval '${KEPT_HOURS} hours'
      for update skip locked
    )
    returning topic, position
  ), recorded as (
    insert into outbox_forgotten as known (topic, position)
    select topic, max(position) from gone group by topic order by topic
    on conflict (topic) do update set position = greatest(known.position, excluded.position)
  )
  select count(*)::text as gone from gone`;

/** The event in a row of the outbox. */
export function toEvent({ id, position, topic, subject, at_ms, data }: EventRow): DomainEvent {
  return {
    id,
    position: BigInt(position),
    topic,
    subject,
    at: new Date(Number(at_ms)),
    data: JSON.parse(data),
  };
}
