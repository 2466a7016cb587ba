import "../shared/reflect.ts";
import { Ctx, Query, Resolver } from "type-graphql";
import type { Context } from "../shared/context.ts";
import { toViewer, ViewerType } from "./viewer.type.ts";

/** Answers everyone who asks about themselves. */
@Resolver()
export class ViewerResolver {
  @Query(() => ViewerType, { description: "Who is asking, and what the credential may do." })
  viewer(@Ctx() { principal }: Context): ViewerType {
    return toViewer(principal);
  }
}
