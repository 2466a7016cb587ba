import "../../shared/schema/reflect.ts";
import { Arg, Args, ArgsType, Ctx, Field, FieldResolver, Query, Resolver, Root } from "type-graphql";
import type { Deliverable } from "../../../src/chain/direct/fine-tuning.service.ts";
import type {
  FineTuningChoice,
  FineTuningContract,
  FineTuningVersion as Version,
} from "../../../src/chain/direct/fine-tuning-contracts.ts";
import { listOf } from "../../../src/kernel/page.ts";
import { type Hex, isHash32, lowerHex } from "../../../src/kernel/text/hex.ts";
import type { Context } from "../../shared/context.ts";
import {
  type Connection,
  PageArgs,
  pageOf,
  toConnection,
  toPageRequest,
} from "../../shared/schema/connection.ts";
import { AddressScalar, BigIntScalar, DateTimeScalar } from "../../shared/schema/scalars.ts";
import { FileStub } from "../file.stub.ts";
import { ProviderStub } from "../provider.stub.ts";
import { DirectPathType, DirectRefundType } from "./direct-ledger.type.ts";
import {
  DeliverableConnection,
  DeliverableType,
  FineTuningAccountConnection,
  FineTuningAccountType,
  FineTuningServiceConnection,
  FineTuningServiceType,
  FineTuningType,
  FineTuningVersion,
  toFineTuningAccount,
  toFineTuningService,
} from "./fine-tuning.type.ts";

const BY_VERSION = "The version of the contract. Default: the current one.";
const BY_TIME = "Instead of `version`: selects the version whose history includes this time.";

/** Selects a version of the fine-tuning contract. */
@ArgsType()
export class FineTuningArgs {
  @Field(() => FineTuningVersion, { nullable: true, description: BY_VERSION })
  version!: Version | null | undefined;

  @Field(() => DateTimeScalar, { nullable: true, description: BY_TIME })
  at!: string | null | undefined;
}

@ArgsType()
class FineTuningPageArgs extends PageArgs {
  @Field(() => FineTuningVersion, { nullable: true, description: BY_VERSION })
  version!: Version | null | undefined;

  @Field(() => DateTimeScalar, { nullable: true, description: BY_TIME })
  at!: string | null | undefined;
}

/** Contracts and services of fine-tuning (SPEC 9.3). */
@Resolver(() => FineTuningType)
export class FineTuningResolver {
  @Query(() => FineTuningType, {
    nullable: true,
    description:
      "A version of the fine-tuning contract. Fails with `contract_not_found` if the network does not have it.",
  })
  fineTuning(
    @Args(() => FineTuningArgs) args: FineTuningArgs,
    @Ctx() { services }: Context,
  ): FineTuningContract {
    return services.fineTuning.contract(toChoice(args));
  }

  @Query(() => [FineTuningType], {
    nullable: true,
    description: "The deployed versions of the fine-tuning contract, the current one first.",
  })
  fineTuningVersions(@Ctx() { services }: Context): readonly FineTuningContract[] {
    return services.fineTuning.contracts();
  }

  @FieldResolver(() => FineTuningServiceConnection, {
    nullable: true,
    description: "The services registered in the contract, ordered by provider.",
  })
  async services(
    @Root() contract: FineTuningContract,
    @Args(() => PageArgs) args: PageArgs,
    @Ctx() { services }: Context,
  ): Promise<Connection<FineTuningServiceType>> {
    const offers = await services.fineTuning.offers(contract);
    return pageOf(
      listOf("fine-tuning-services", contract.address),
      offers.map(toFineTuningService),
      args,
      ({ providerAddress }) => providerAddress,
    );
  }

  @FieldResolver(() => FineTuningServiceType, {
    nullable: true,
    description: "A provider's service. Null if it has none.",
  })
  async service(
    @Root() contract: FineTuningContract,
    @Arg("provider", () => AddressScalar, { description: "The provider's address." }) provider: Hex,
    @Ctx() { services }: Context,
  ): Promise<FineTuningServiceType | undefined> {
    const offer = await services.fineTuning.offer(contract, provider);
    return offer && toFineTuningService(offer);
  }

  @FieldResolver(() => BigIntScalar, {
    nullable: true,
    description: "The lock time of a refund, in seconds. Null, with an error, if the chain cannot be read.",
  })
  refundLockSeconds(@Root() contract: FineTuningContract, @Ctx() { services }: Context): Promise<bigint> {
    return services.fineTuning.refundLockSeconds(contract);
  }
}

/** Fine-tuning fields of the provider. */
@Resolver(() => ProviderStub)
export class FineTuningProviderResolver {
  @FieldResolver(() => FineTuningServiceType, {
    nullable: true,
    description: "The provider's fine-tuning service. Null if it offers none.",
  })
  async fineTuning(
    @Root() { address }: ProviderStub,
    @Args(() => FineTuningArgs) args: FineTuningArgs,
    @Ctx() { services }: Context,
  ): Promise<FineTuningServiceType | undefined> {
    const contract = services.fineTuning.contract(toChoice(args));
    const offer = await services.fineTuning.offer(contract, lowerHex(address));
    return offer && toFineTuningService(offer);
  }
}

/** Fine-tuning fields of the account. */
@Resolver(() => DirectPathType)
export class FineTuningPathResolver {
  @FieldResolver(() => FineTuningAccountConnection, {
    nullable: true,
    description: "The account's sub-accounts with providers of fine-tuning, in the contract's order.",
  })
  async fineTuningAccounts(
    @Root() { account }: DirectPathType,
    @Args(() => FineTuningPageArgs) args: FineTuningPageArgs,
    @Ctx() { services }: Context,
  ): Promise<Connection<FineTuningAccountType>> {
    const contract = services.fineTuning.contract(toChoice(args));
    const page = await services.fineTuning.accounts(contract, lowerHex(account), toPageRequest(args));
    const rows = page.rows.map((row) => toFineTuningAccount(contract, row));
    const cursors = new Map(page.rows.map(({ cursor }, index) => [rows[index], cursor]));
    return toConnection({ ...page, rows }, (row) => cursors.get(row) ?? "");
  }

  @FieldResolver(() => FineTuningAccountType, {
    nullable: true,
    description: "The account's sub-account with a provider of fine-tuning. Null if there is none.",
  })
  async fineTuningAccount(
    @Root() { account }: DirectPathType,
    @Arg("provider", () => AddressScalar, { description: "The provider's address." }) provider: Hex,
    @Args(() => FineTuningArgs) args: FineTuningArgs,
    @Ctx() { services }: Context,
  ): Promise<FineTuningAccountType | undefined> {
    const contract = services.fineTuning.contract(toChoice(args));
    const row = await services.fineTuning.account(contract, lowerHex(account), provider);
    return row && toFineTuningAccount(contract, row);
  }
}

/** The refunds and deliverables of a fine-tuning sub-account. */
@Resolver(() => FineTuningAccountType)
export class FineTuningAccountResolver {
  @FieldResolver(() => [DirectRefundType], {
    nullable: true,
    description: "The pending refunds, oldest first. Null, with an error, if the chain cannot be read.",
  })
  refunds(
    @Root() { contract, user, providerAddress }: FineTuningAccountType,
    @Ctx() { services }: Context,
  ): Promise<readonly DirectRefundType[]> {
    return services.fineTuning.refunds(contract, user, providerAddress);
  }

  @FieldResolver(() => DeliverableConnection, {
    nullable: true,
    description: "The delivered models, oldest first. The contract keeps only the latest ones.",
  })
  async deliverables(
    @Root() { contract, user, providerAddress }: FineTuningAccountType,
    @Args(() => PageArgs) args: PageArgs,
    @Ctx() { services }: Context,
  ): Promise<Connection<Deliverable>> {
    const rows = await services.fineTuning.deliverables(contract, user, providerAddress);
    const numbers = new Map(rows.map((row, index) => [row, String(index).padStart(10, "0")]));
    const list = listOf("deliverables", contract.address, user, providerAddress);
    return pageOf(list, rows, args, (row) => numbers.get(row) ?? "");
  }
}

/** The file of a trained model. */
@Resolver(() => DeliverableType)
export class DeliverableResolver {
  @FieldResolver(() => FileStub, {
    nullable: true,
    description:
      "The stored file of the encrypted model. Null if the storage network does not know its root.",
  })
  async file(@Root() { modelRoot }: DeliverableType, @Ctx() { loaders }: Context): Promise<FileStub | null> {
    const file = isHash32(modelRoot) ? await loaders.files.load(modelRoot) : undefined;
    return file ? { root: file.root } : null;
  }
}

function toChoice({ version, at }: FineTuningArgs): FineTuningChoice {
  return { version: version ?? undefined, at: at == null ? undefined : new Date(at) };
}
