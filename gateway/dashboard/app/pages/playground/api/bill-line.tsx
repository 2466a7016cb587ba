import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Amount } from "../../../parts/value/amount.tsx";
import { Hash } from "../../../parts/value/hash.tsx";
import { Pill } from "../../../parts/value/state-badge.tsx";
import type { Bill } from "./bill.ts";

/** The price, the provider and the evidence of an answer; its children are more facts of it, such as its tokens. */
export function BillLine({
  bill: { requestId, provider, cost, isVerified, verdict },
  children,
}: {
  bill: Bill;
  children?: ReactNode;
}) {
  return (
    <p className="facts">
      {cost !== undefined && (
        <span>
          <Amount neuron={cost} places={9} />
        </span>
      )}
      {children}
      <span>
        by <Hash of={provider} />
      </span>
      {isVerified === true && <Pill tone="good">signature verified</Pill>}
      {isVerified === false && (
        <Pill tone="bad">{verdict ? `signature ${verdict}` : "signature not verified"}</Pill>
      )}
      <Link to="/requests/$id" params={{ id: requestId }}>
        Details
      </Link>
    </p>
  );
}
