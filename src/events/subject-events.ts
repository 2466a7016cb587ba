import type { Queries } from "../db/database.ts";
import { EVENT_COLUMNS, type EventRow, toEvent } from "./outbox.ts";
import type { DomainEvent, Topic } from "./topics.ts";

/** Which subjects have events of which topic in a part of the outbox, and the first and last position of them. */
export type SubjectsWithEvents = {
  /** The last position of the part; undefined when there is nothing after its start. */
  readonly upTo: bigint | undefined;
  readonly subjects: readonly {
    readonly topic: Topic;
    readonly subject: string;
    readonly first: string;
    readonly last: string;
  }[];
  /** Whether more may follow. */
  readonly isFull: boolean;
};

/** The subjects of at most `limit` published events after a position, those of `topics` only. */
export async function readSubjectsAfter(
  queries: Queries,
  after: bigint,
  { topics, limit }: { readonly topics: readonly Topic[]; readonly limit: number },
): Promise<SubjectsWithEvents> {
  type Row = {
    topic: Topic | null;
    subject: string;
    first: string;
    last: string;
    up_to: string;
    read: number;
  };
  const rows = await queries.rows<Row>(SUBJECTS, [after.toString(), JSON.stringify(topics), limit]);
  const [row] = rows;
  return {
    upTo: row && BigInt(row.up_to),
    subjects: rows.flatMap(({ topic, subject, first, last }) =>
      topic === null ? [] : { topic, subject, first, last },
    ),
    isFull: row?.read === limit,
  };
}

/** A page of the events of one subject in several topics. */
export type SubjectPage = {
  /** In order of position. */
  readonly events: readonly DomainEvent[];
  /** The greatest position at which every event of the subject is in this page or in one before it. */
  readonly upTo: bigint;
  /** Whether more may follow. */
  readonly isFull: boolean;
};

/** At most `limit` published events of a subject after a position. */
export async function readSubjectPage(
  queries: Queries,
  { topics, subject }: { readonly topics: readonly Topic[]; readonly subject: string },
  after: bigint,
  limit: number,
): Promise<SubjectPage> {
  type Row = EventRow & { readonly newest: string };
  const rows = await queries.rows<Row>(PAGE, [JSON.stringify(topics), subject, after.toString(), limit]);
  const events = rows.filter(({ id }) => id !== null).map(toEvent);
  const isFull = events.length === limit;
  const last = events.at(-1)?.position ?? after;
  const newest = BigInt(rows[0]?.newest ?? 0);
  return { events, upTo: isFull || newest < last ? last : newest, isFull };
}

/** The newest position of these topics that retention has deleted; a reader resumes from it or from a later one. */
export async function forgottenPosition(queries: Queries, topics: readonly Topic[]): Promise<bigint> {
  const [row] = await queries.rows<{ position: string }>(FORGOTTEN, [JSON.stringify(topics)]);
  return BigInt(row?.position ?? 0);
}

const SUBJECTS = `
  with page as (
    select topic, subject, position from outbox
    where position > $1::bigint order by position limit $3::integer
  ), bounds as (select max(position)::text as up_to, count(*)::int as read from page)
  select bounds.up_to, bounds.read, found.topic, found.subject, found.first, found.last
  from bounds left join (
    select topic, subject, min(position)::text as first, max(position)::text as last from page
    where topic in (select jsonb_array_elements_text($2::text::jsonb))
    group by topic, subject
  ) as found on true
  where bounds.up_to is not null`;

// Each topic is an index range of its own, so that one with many events does not make the others read them.
const PAGE = `
  select ${EVENT_COLUMNS}, bounds.newest
  from (select coalesce(max(position), 0)::text as newest from outbox where position is not null) as bounds
  left join (
    select event.* from jsonb_array_elements_text($1::text::jsonb) as wanted (topic), lateral (
      select o.* from outbox o
      where o.topic = wanted.topic and o.subject = $2::text and o.position > $3::bigint
      order by o.position limit $4::integer
    ) as event
    order by event.position limit $4::integer
  ) as outbox on true
  order by outbox.position`;

const FORGOTTEN = `
  select coalesce(max(position), 0)::text as position from outbox_forgotten
  where topic in (select jsonb_array_elements_text($1::text::jsonb))`;
