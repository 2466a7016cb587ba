import "../../shared/schema/reflect.ts";
import { Arg, Ctx, Query, Resolver } from "type-graphql";
import type { Signable } from "../../../src/chain/market/market-orders.service.ts";
import type { Hex } from "../../../src/kernel/text/hex.ts";
import type { Context } from "../../shared/context.ts";
import { AddressScalar, HexScalar } from "../../shared/schema/scalars.ts";
import {
  MarketOfferInput,
  MarketOrderInput,
  MarketSignatureCheckType,
  SignableTypedDataType,
  toNewOffer,
  toNewOrder,
  toSignatureCheck,
  toSignedOffer,
  toSignedOrder,
} from "./market-order.type.ts";

const SignatureArg = () =>
  Arg("signature", () => HexScalar, { description: "The wallet's signature: 65 bytes." });

/** Orders and offers to sign, and signed ones to check. */
@Resolver()
export class MarketOrdersResolver {
  @Query(() => SignableTypedDataType, {
    nullable: true,
    description: "The typed data of an order for the seller to sign, as the market hashes it.",
  })
  marketOrderTypedData(
    @Arg("order", () => MarketOrderInput, { description: "The order." }) order: MarketOrderInput,
    @Ctx() { services }: Context,
  ): Promise<Signable> {
    return services.marketOrders.order(toNewOrder(order));
  }

  @Query(() => SignableTypedDataType, {
    nullable: true,
    description: "The typed data of an offer for the buyer to sign, as the market hashes it.",
  })
  marketOfferTypedData(
    @Arg("offer", () => MarketOfferInput, { description: "The offer." }) offer: MarketOfferInput,
    @Ctx() { services }: Context,
  ): Promise<Signable> {
    return services.marketOrders.offer(toNewOffer(offer));
  }

  @Query(() => MarketSignatureCheckType, {
    nullable: true,
    description:
      "Checks who signed an order and whether the market would accept it now. The check calls the contract itself.",
  })
  async checkMarketOrder(
    @Arg("order", () => MarketOrderInput, { description: "The order, with its nonce." })
    order: MarketOrderInput,
    @SignatureArg() signature: Hex,
    @Ctx() { services }: Context,
  ): Promise<MarketSignatureCheckType> {
    return toSignatureCheck(await services.marketOrders.checkOrder(toSignedOrder(order), signature));
  }

  @Query(() => MarketSignatureCheckType, {
    nullable: true,
    description:
      "Checks who signed an offer and whether the market would accept it now, as far as is known without an order.",
  })
  async checkMarketOffer(
    @Arg("offer", () => MarketOfferInput, { description: "The offer, with its nonce." })
    offer: MarketOfferInput,
    @SignatureArg() signature: Hex,
    @Arg("payableIn", () => AddressScalar, {
      nullable: true,
      description:
        "An ERC-20 contract. If given, the check includes whether the buyer can pay in it. The zero address checks the " +
        "buyer's balance in the market.",
    })
    payableIn: Hex | null,
    @Ctx() { services }: Context,
  ): Promise<MarketSignatureCheckType> {
    const currency = payableIn === null ? undefined : /^0x0+$/.test(payableIn) ? null : payableIn;
    return toSignatureCheck(
      await services.marketOrders.checkOffer(toSignedOffer(offer), signature, currency),
    );
  }
}
