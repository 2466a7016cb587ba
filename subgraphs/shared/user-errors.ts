import "./schema/reflect.ts";
import { Directive, Field, ObjectType } from "type-graphql";
import { AppError, type ErrorCode, isUserError } from "../../src/kernel/errors.ts";
import { unstorableOf } from "../../src/kernel/unstorable-text.ts";
import { faultIn } from "./input-faults.ts";
import { ErrorCodeType } from "./schema/error-code.ts";

/** A failure that the user can correct. */
@Directive("@shareable")
@ObjectType("UserError", {
  description: "A failure of a mutation that the user can correct, to be shown in a form.",
  simpleResolvers: true,
})
class UserErrorType {
  @Field(() => String, {
    nullable: true,
    description:
      "The field of `input` at fault, as a path with dots, such as `name` or `writes.0.key`. Null if no single field is at fault.",
  })
  field!: string | null;

  @Field(() => String, { description: "What is wrong, as a sentence for the user." })
  message!: string;

  @Field(() => ErrorCodeType, { description: "The code of the failure." })
  code!: ErrorCode;
}

/** What every mutation answers. The other fields of a payload are null when there is a user error. */
@ObjectType("Payload", { simpleResolvers: true })
export abstract class PayloadType {
  @Field(() => [UserErrorType], {
    description: "What the user can correct. Empty if the mutation was carried out.",
  })
  userErrors!: readonly UserErrorType[];
}

/** A payload with its fields, or with user errors and none of its fields. */
export type PayloadOf<Result extends object> = Partial<Result> & PayloadType;

/**
 * Answers a mutation: with its result, or with the failure if the user can correct it, named as in `input`, its
 * argument. Throws all other failures: what is wrong with the credential, the service or a part of it is not the
 * user's doing.
 */
export async function answerMutation<Result extends object>(
  input: object,
  run: () => Promise<Result>,
): Promise<PayloadOf<Result>> {
  try {
    return { ...(await run()), userErrors: [] };
  } catch (reason) {
    const failure = unstorableOf(reason);
    if (!(failure instanceof AppError) || !isUserError(failure.code)) throw reason;
    const none: Partial<Result> = {};
    return { ...none, userErrors: [{ ...faultIn(input, failure), code: failure.code }] };
  }
}
