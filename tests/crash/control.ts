import { once } from "node:events";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import type { Order, OrderAnswer } from "./statement-watch.ts";

/** Sends an order to the preload of a product under test. Returns its rows. */
export async function sendOrder<Row>(socketPath: string, order: Order): Promise<readonly Row[]> {
  const socket = connect(socketPath);
  try {
    await once(socket, "connect");
    socket.write(`${JSON.stringify(order)}\n`);
    for await (const line of createInterface({ input: socket })) {
      const answer = JSON.parse(line) as OrderAnswer;
      if ("error" in answer) throw new Error(answer.error);
      return answer.rows as readonly Row[];
    }
    throw new Error("the product ended before it answered");
  } finally {
    socket.destroy();
  }
}
