import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A pooler in transaction mode, such as PgBouncer, whose clients share a single connection to the server. */
export type TransactionPooler = { readonly port: number; close(): Promise<void> };

type Options = {
  readonly port: number;
  readonly database: string;
  /**
   * Startup parameters that are accepted and ignored; others are refused except those that PgBouncer knows.
   */
  readonly ignores?: readonly string[];
};

type Client = { readonly socket: Socket; readonly waiting: Buffer[]; unanswered: number };

const PROTOCOL = 196_608;
const SSL_REQUEST = 80_877_103;
const KNOWN = ["user", "database", "client_encoding", "application_name"];

/** Starts one in front of a server of 127.0.0.1 with trust authentication. */
export async function startTransactionPooler(options: Options): Promise<TransactionPooler> {
  const sockets = new Set<Socket>();
  const queue: Client[] = [];
  let current: Client | undefined;
  let server = await connectServer(options, onAnswer);

  function onAnswer(message: Buffer): void {
    const client = current;
    client?.socket.write(message);
    if (message[0] !== code("Z") || !client) return;
    client.unanswered -= 1;
    // Between transactions, with nothing running: the connection is free for any client.
    if (client.unanswered > 0 || message[5] !== code("I")) return;
    current = undefined;
    next();
  }

  function next(): void {
    current ??= queue.shift();
    if (current) for (const message of current.waiting.splice(0)) forward(current, message);
  }

  function forward(client: Client, message: Buffer): void {
    if (message[0] === code("Q") || message[0] === code("S")) client.unanswered += 1;
    server.write(message);
  }

  async function leave(client: Client): Promise<void> {
    const at = queue.indexOf(client);
    if (at >= 0) queue.splice(at, 1);
    if (current !== client) return;
    // What it leaves running ends with its connection.
    server.destroy();
    server = await connectServer(options, onAnswer);
    current = undefined;
    next();
  }

  const listener = createServer({ noDelay: true }, async (socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    const client: Client = { socket, waiting: [], unanswered: 0 };
    if (!(await greet(socket, options.ignores ?? []))) return;
    socket.on("close", () => void leave(client));
    readMessages(socket, (message) => {
      if (message[0] === code("X")) return void socket.end();
      if (current === client) return forward(client, message);
      client.waiting.push(message);
      if (!queue.includes(client)) queue.push(client);
      next();
    });
  }).listen(0, "127.0.0.1");
  await once(listener, "listening");
  return {
    port: (listener.address() as AddressInfo).port,
    async close() {
      server.destroy();
      for (const socket of sockets) socket.destroy();
      listener.close();
      await once(listener, "close");
    },
  };
}

/** Answers a client's startup as a server would. False for one that is refused. */
async function greet(socket: Socket, ignores: readonly string[]): Promise<boolean> {
  for (;;) {
    const [packet] = (await once(socket, "data")) as [Buffer];
    const kind = packet.readInt32BE(4);
    if (kind === SSL_REQUEST) socket.write("N");
    else if (kind === PROTOCOL) {
      const names = packet
        .toString("latin1", 8)
        .split("\0")
        .filter((_, at) => at % 2 === 0);
      const refused = names.find((name) => name !== "" && ![...KNOWN, ...ignores].includes(name));
      if (!refused) {
        socket.write(
          Buffer.concat([frame("R", int32(0)), frame("K", int32(7), int32(7)), frame("Z", Buffer.from("I"))]),
        );
        return true;
      }
      const text = `SFATAL\0C08P01\0Munsupported startup parameter: ${refused}\0\0`;
      socket.end(frame("E", Buffer.from(text)));
      return false;
    } else {
      socket.end();
      return false;
    }
  }
}

/** Connects, and calls back with each message once the server is ready. */
async function connectServer(
  { port, database }: Options,
  onMessage: (message: Buffer) => void,
): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  socket.on("error", () => {});
  await once(socket, "connect");
  const parameters = Buffer.from(`user\0postgres\0database\0${database}\0\0`);
  socket.write(Buffer.concat([int32(parameters.length + 8), int32(PROTOCOL), parameters]));
  const { promise: isReady, resolve } = Promise.withResolvers<void>();
  let ready = false;
  readMessages(socket, (message) => {
    if (ready) return onMessage(message);
    if (message[0] !== code("Z")) return;
    ready = true;
    resolve();
  });
  await isReady;
  return socket;
}

/** Splits input into messages: a byte for the kind, and a length that includes itself. */
function readMessages(socket: Socket, onMessage: (message: Buffer) => void): void {
  let rest = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 5 && rest.length > rest.readInt32BE(1)) {
      const end = rest.readInt32BE(1) + 1;
      const message = rest.subarray(0, end);
      rest = rest.subarray(end);
      onMessage(message);
    }
  });
}

function frame(kind: string, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from(kind), int32(body.length + 4), body]);
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function code(kind: string): number {
  return kind.charCodeAt(0);
}
