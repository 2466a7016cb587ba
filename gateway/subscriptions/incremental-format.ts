import type { ExecutionResult } from "graphql";
import type {
  Completed,
  Delivery,
  Part,
  Pending,
  ResultInParts,
} from "../federation/engine/incremental/parts.ts";
import { showError } from "../federation/policy/refusals.ts";

/**
 * How parts are written. `current`: with ids, as GraphQL's specification drafts it and graphql-js 17 does
 * (`incrementalSpec=v0.2`). `2022`: with paths and labels (`deferSpec=20220824`). `both`: as `current`, and with the
 * paths of `2022`, for clients that do not name a format, such as urql.
 */
export type IncrementalFormat = "current" | "2022" | "both";

/** The first part. */
export function showFirst(
  { first, pending }: Pick<ResultInParts, "first" | "pending">,
  format: IncrementalFormat,
): ExecutionResult {
  const announced = format === "2022" ? {} : { pending: pending.map(showPending) };
  const part = { ...first, ...announced, hasNext: true };
  return part;
}

/** A part after the first. */
export function showPart(
  { pending, delivered, completed, hasNext }: Part,
  format: IncrementalFormat,
): ExecutionResult {
  const failed = completed.filter(({ errors }) => errors !== undefined);
  const incremental = [
    ...delivered.map((one) => showDelivery(one, format)),
    ...(format === "current" ? [] : failed.map((one) => showFailure(one, format))),
  ];
  return {
    ...(format !== "2022" && pending.length > 0 && { pending: pending.map(showPending) }),
    ...(incremental.length > 0 && { incremental }),
    ...(format !== "2022" && completed.length > 0 && { completed: completed.map(showCompleted) }),
    hasNext,
  } as ExecutionResult;
}

function showPending({ id, path, label }: Pending): object {
  return { id, path, ...(label !== undefined && { label }) };
}

function showCompleted({ id, errors }: Completed): object {
  return { id, ...(errors && { errors: showErrors(errors) }) };
}

function showDelivery(one: Delivery, format: IncrementalFormat): object {
  const content = one.kind === "fragment" ? { data: one.data } : { items: one.items };
  const path = one.kind === "fragment" ? one.path : [...one.path, one.at];
  return {
    ...placeOf(one, path, format),
    ...content,
    ...(one.errors.length > 0 && { errors: showErrors(one.errors) }),
  };
}

/** The format of 2022 reports a failure beside a null; clients of `both` have the nulls from what was delivered. */
function showFailure({ at, errors = [], ...one }: Completed, format: IncrementalFormat): object {
  const path = at === undefined ? one.path : [...one.path, at];
  const nothing = format === "both" ? {} : at === undefined ? { data: null } : { items: null };
  return { ...placeOf(one, path, format), ...nothing, errors: showErrors(errors) };
}

function placeOf({ id, label }: Pending, path: Pending["path"], format: IncrementalFormat): object {
  if (format === "current") return { id };
  return { ...(format === "both" && { id }), path, ...(label !== undefined && { label }) };
}

function showErrors(errors: Delivery["errors"]): readonly object[] {
  return errors.map((error) => showError(error.toJSON()));
}
