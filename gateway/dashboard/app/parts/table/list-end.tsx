import { Button, Group } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import type { EndlessList } from "../../data/list/use-endless-list.ts";
import { reasonOf } from "../../data/query/graph.ts";

/** Below a list that is read on while one scrolls: how much of it is shown, and how to get to the rest. */
export function ListEnd({
  list,
  what,
}: {
  list: EndlessList<unknown>;
  what: readonly [one: string, many: string];
}) {
  const navigate = useNavigate();
  const { rows, more, rest, total, fetching, error, liveness } = list;
  // A list that begins at a cursor after which nothing is left has its start.
  if (!rows || (rows.length === 0 && liveness !== undefined)) return null;
  const go = (after: string | undefined) => {
    const search = (now: object) => ({ ...now, after });
    void navigate({ to: ".", search: search as never });
  };
  const shown = rows.length.toLocaleString("en");
  const isWhole = more === undefined && rest === undefined;
  const count = Math.max(total?.count ?? 0, rows.length).toLocaleString("en");
  return (
    <nav className="list-end" aria-label="More of the list">
      <span role="status" className="quiet">
        {isWhole || !total
          ? `${shown} ${what[rows.length === 1 ? 0 : 1]}`
          : `${shown} of ${total.isEstimate ? "about " : ""}${count} ${what[1]}`}
      </span>
      {error && !fetching && (
        <span role="alert" className="bad-text">
          {reasonOf(error)}
        </span>
      )}
      <Group gap="xs">
        {liveness === undefined && (
          <Button size="xs" variant="default" onClick={() => go(undefined)}>
            Back to the start
          </Button>
        )}
        {more && (
          <Button size="xs" variant="default" loading={fetching} onClick={more}>
            Load more
          </Button>
        )}
        {rest !== undefined && (
          <Button size="xs" variant="default" onClick={() => go(rest)}>
            Go on after these
          </Button>
        )}
      </Group>
    </nav>
  );
}
