import type { Child } from "../../child.ts";

/** A request to a program in its own process, and its answer. */
type Message = { readonly id: number; readonly body: unknown };

let asked = 0;

/** Sends a request to a child that runs `answerParent`. Rejects with the child's error. */
export function askChild<T>(child: Child, body: object): Promise<T> {
  const id = ++asked;
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const listen = (message: unknown) => {
    const { id: of, body: answer, failure } = message as Message & { readonly failure?: string };
    if (of !== id) return;
    child.process.off("message", listen);
    if (failure === undefined) resolve(answer as T);
    else reject(new Error(failure));
  };
  child.process.on("message", listen);
  child.process.send({ id, body } satisfies Message);
  return promise;
}

/** Answers the requests of the parent process, one at a time in their order. */
export function answerParent<Q>(answer: (question: Q) => Promise<unknown>): void {
  process.on("message", (message) => {
    const { id, body } = message as Message;
    answer(body as Q).then(
      (given) => process.send?.({ id, body: given }),
      (error: unknown) => process.send?.({ id, failure: String(error) }),
    );
  });
}
