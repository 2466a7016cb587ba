import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Amount } from "../../../parts/value/amount.tsx";
import { Hash } from "../../../parts/value/hash.tsx";
import { Pill } from "../../../parts/value/state-badge.tsx";
import type { Bill } from "./bill.ts";

/**
 * The price, the provider and the evidence of an answer, with a link to its request; its children are more facts of it,
 * such as its tokens. An answer that was interrupted has no bill: its request says what was charged.
 */
export function BillLine({
  bill,
  requestId = bill?.requestId,
  children,
}: {
  bill: Bill | undefined;
  requestId?: string | undefined;
  children?: ReactNode;
}) {
  return (
    <p className="facts">
      {bill?.cost !== undefined && (
        <span>
          <Amount neuron={bill.cost} places={9} />
        </span>
      )}
      {children}
      {bill && (
        <span>
          by <Hash of={bill.provider} />
        </span>
      )}
      {bill?.isVerified === true && <Pill tone="good">signature verified</Pill>}
      {bill?.isVerified === false && (
        <Pill tone="bad">{bill.verdict ? `signature ${bill.verdict}` : "signature not verified"}</Pill>
      )}
      {requestId !== undefined && (
        <Link to="/requests/$id" params={{ id: requestId }}>
          {bill ? "Details" : "Cost and details"}
        </Link>
      )}
    </p>
  );
}
