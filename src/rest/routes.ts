import { getFolder, getFolderEntry } from "./file/entry.ts";
import { getFile } from "./file/file.ts";
import { getFileInfo } from "./file/file-info.ts";
import { uploadSegment } from "./file/segment.ts";
import { listFileInfos } from "./files/files-info.ts";
import { KnownPaths } from "./http/known-paths.ts";
import { getNodeStatus } from "./node/status.ts";
import type { Route } from "./route.ts";
import { callRpc } from "./rpc/rpc.ts";
import { getUsageByDay, getUsageByTag, getUsageHistory, getUsageStats } from "./v1/account/usage.ts";
import { getAccount, getBalance, getFunds } from "./v1/account.ts";
import { createApiKey, listApiKeys, revokeApiKey, updateApiKey } from "./v1/api-keys.ts";
import { submitImageEdit } from "./v1/async/images/edits.ts";
import { submitImages } from "./v1/async/images/generations.ts";
import { cancelAsyncJob, getAsyncJob, listAsyncJobs } from "./v1/async/jobs.ts";
import { createSpeech } from "./v1/audio/speech.ts";
import { createTranscription } from "./v1/audio/transcriptions.ts";
import { getMe, getNonce, signIn, signOut } from "./v1/auth.ts";
import { cancelBatch, createBatch, getBatch, listBatches } from "./v1/batches.ts";
import { chatCompletions } from "./v1/chat/completions.ts";
import { createCompletion } from "./v1/completions.ts";
import { getCredits } from "./v1/credits.ts";
import { createEmbeddings } from "./v1/embeddings.ts";
import { deleteFile, getFileContent, getFileObject, listFiles, uploadFile } from "./v1/files.ts";
import { getGeneration } from "./v1/generation.ts";
import { editImages } from "./v1/images/edits.ts";
import { generateImages } from "./v1/images/generations.ts";
import { getKey } from "./v1/key.ts";
import {
  createManagementKey,
  listManagementKeys,
  revokeManagementKey,
  updateManagementKey,
} from "./v1/management-keys.ts";
import { countMessageTokens, createMessage } from "./v1/messages.ts";
import { getModel, listModels } from "./v1/models.ts";
import { listProviders } from "./v1/providers.ts";
import { getCheckpoint, getConsistency, getReceipt, getReceiptKey } from "./v1/receipts.ts";
import { rerankDocuments } from "./v1/rerank.ts";
import { createResponse } from "./v1/responses.ts";
import { previewRouting } from "./v1/routing/preview.ts";
import { listServiceTypes } from "./v1/service-types.ts";
import {
  createTagBudget,
  deleteTagBudget,
  getTagBudget,
  listTagBudgets,
  updateTagBudget,
} from "./v1/tag-budgets.ts";
import {
  listWebhookAttempts,
  replayWebhook,
  rotateWebhookSecret,
  testWebhook,
} from "./v1/webhooks/webhook-actions.ts";
import { createWebhook, deleteWebhook, getWebhook, listWebhooks, updateWebhook } from "./v1/webhooks.ts";

/** Every REST endpoint. The server, the permission tests and OpenAPI iterate over this list. */
export const routes: readonly Route[] = [
  chatCompletions,
  createResponse,
  createCompletion,
  createMessage,
  countMessageTokens,
  generateImages,
  editImages,
  submitImages,
  submitImageEdit,
  listAsyncJobs,
  getAsyncJob,
  cancelAsyncJob,
  uploadFile,
  listFiles,
  getFileObject,
  getFileContent,
  deleteFile,
  createBatch,
  listBatches,
  getBatch,
  cancelBatch,
  createTranscription,
  createSpeech,
  createEmbeddings,
  rerankDocuments,
  getCheckpoint,
  getConsistency,
  getReceiptKey,
  getReceipt,
  previewRouting,
  listModels,
  getModel,
  listProviders,
  listServiceTypes,
  getNonce,
  signIn,
  signOut,
  getMe,
  listApiKeys,
  createApiKey,
  updateApiKey,
  revokeApiKey,
  listManagementKeys,
  createManagementKey,
  updateManagementKey,
  revokeManagementKey,
  getAccount,
  getBalance,
  getFunds,
  getUsageStats,
  getUsageByDay,
  getUsageByTag,
  getUsageHistory,
  listTagBudgets,
  createTagBudget,
  getTagBudget,
  updateTagBudget,
  deleteTagBudget,
  getGeneration,
  getKey,
  getCredits,
  listWebhooks,
  createWebhook,
  getWebhook,
  updateWebhook,
  deleteWebhook,
  listWebhookAttempts,
  testWebhook,
  rotateWebhookSecret,
  replayWebhook,
  getFile,
  getFileInfo,
  listFileInfos,
  uploadSegment,
  getFolder,
  getFolderEntry,
  getNodeStatus,
  callRpc,
];

/** The paths of the REST API, for decisions made before a request is routed. */
export const restPaths = new KnownPaths();
for (const { url, method } of routes) restPaths.add(url, method);
