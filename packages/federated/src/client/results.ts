import { AccError, isRecord, showValue } from '@acc/contract';
import { metricsSchema } from '../protocol/messages.js';
import type { LocalResult } from './options.js';

/** @throws AccError `ACC_FEDERATED_RESULT` for what the coordinator could not take. */
export function checkedResult(result: unknown): LocalResult {
  const { samples, metrics }: Record<string, unknown> = isRecord(result) ? result : {};
  if (typeof samples !== 'number' || !(samples > 0) || !Number.isFinite(samples)) {
    throw invalid(`samples is ${showValue(samples)}; expected a number greater than 0`);
  }
  if (metrics !== undefined && !(isRecord(metrics) && areNumbers(metrics))) {
    throw invalid(
      `metrics is ${showValue(metrics)}; expected at most 64 numbers by name, of at most 64 letters each`,
    );
  }
  return result as unknown as LocalResult;
}

/** NaN and infinities are accepted: they travel as null. */
function areNumbers(metrics: Record<string, unknown>): boolean {
  const values = Object.entries(metrics);
  if (!values.every(([, value]) => typeof value === 'number')) return false;
  return metricsSchema.safeParse(Object.fromEntries(values.map(([key]) => [key, 0]))).success;
}

function invalid(problem: string): AccError {
  return new AccError(
    'ACC_FEDERATED_RESULT',
    `joinFederation: train returned an invalid result: ${problem}.`,
    {
      help: 'Return { samples, metrics } from train: the number of samples it trained on, and numbers by name.',
    },
  );
}

/** The error for a coordinator that asks for FedProx, and a program that does not use the term. */
export function lacksProximalTerm(proximalMu: number): AccError {
  return new AccError(
    'ACC_FEDERATED_PROXIMAL',
    `The coordinator asks for a proximal term with μ = ${proximalMu}, but train never used it.`,
    {
      help: 'Add round.proximalTerm() to the loss, or set proximalMu of the coordinator to 0.',
      details: { proximalMu },
    },
  );
}

export interface LostConnection {
  readonly url: string;
  readonly cause: unknown;
  readonly code: number;
  readonly lostForMs: number;
  readonly hasJoined: boolean;
}

/** The error for a connection that ended or never began, if it is not tried again. */
export function connectionError({ url, cause, code, lostForMs, hasJoined }: LostConnection): AccError {
  const reason = cause instanceof Error ? cause.message : `the connection closed with code ${code}`;
  if (!hasJoined) {
    return new AccError('ACC_FEDERATED_UNREACHABLE', `${url} cannot be joined: ${reason}.`, {
      help: 'Start the coordinator first. A page that https served needs a wss:// address, except for this machine.',
      cause,
      details: { url, code },
    });
  }
  const seconds = (lostForMs / 1_000).toFixed(1);
  return new AccError(
    'ACC_FEDERATED_LOST',
    `${url} was lost and could not be reached for ${seconds} s: ${reason}.`,
    {
      help: 'Start the coordinator again with `resume: true`. reconnectMs says how long clients wait for it.',
      cause,
      details: { url, code, lostForMs },
    },
  );
}

export function randomName(): string {
  const bytes = globalThis.crypto.getRandomValues(new Uint8Array(4));
  return `client-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}
