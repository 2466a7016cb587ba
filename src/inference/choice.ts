import { AppError } from "../kernel/errors.ts";
import type { KeyReach } from "../keys/key-terms.ts";
import { isRoutable, type Model, type Provider, trustModeOf } from "./provider.ts";

/**
 * The offer that a chat of this model goes to: the cheapest of those that are routable and that the key may reach.
 * Throws `access_denied` for a model, or for providers, that the key may not use; `model_not_found`;
 * `no_available_provider` when all who may serve it cannot be used now; `no_provider_for_trust_mode` when none of
 * these can be trusted as far as the key asks.
 */
export function chooseForChat(modelId: string, model: Model | undefined, reach: KeyReach): Provider {
  if (reach.models.length > 0 && !reach.models.includes(modelId))
    throw denied(`This key may not use the model ${JSON.stringify(modelId)}.`);
  if (model?.serviceType !== "chatbot")
    throw new AppError("model_not_found", `There is no chat model ${JSON.stringify(modelId)}.`, {
      param: "model",
    });
  const allowed = model.providers.filter((offer) => mayReach(offer, reach));
  if (allowed.length === 0) throw denied("This key may not use any of the providers of this model.");
  const routable = allowed.filter(isRoutable);
  if (routable.length === 0)
    throw new AppError("no_available_provider", "No provider of this model is available now.");
  const trusted = routable.find((offer) => meetsFloor(offer, reach));
  if (!trusted)
    throw new AppError(
      "no_provider_for_trust_mode",
      `No provider of this model has the trust mode that this key asks for, ${reach.trustMode}.`,
    );
  return trusted;
}

function mayReach({ address }: Provider, { providers }: KeyReach): boolean {
  return providers.length === 0 || providers.includes(address);
}

function meetsFloor(offer: Provider, { trustMode }: KeyReach): boolean {
  if (trustMode === null) return true;
  const offered = trustModeOf(offer);
  return offered === "private" || offered === trustMode;
}

function denied(message: string): AppError {
  return new AppError("access_denied", message, { param: "model" });
}
