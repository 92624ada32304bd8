import { AccError } from '@acc/contract';

/** The options of the command that stand for options of `findPlans`, where the names differ. */
const FLAGS: Readonly<Record<string, string>> = {
  'plan.globalBatch': '--batch',
  'model.vocabulary': '--vocab',
  'constraints.offload.to': '--offload-to',
};

/** An option of `findPlans` in a message, or an axis. */
const NAMES = /\b(?:plan\.constraints|plan|constraints|model|mesh|cluster)(?:\.mesh)?\.[a-zA-Z]+(?:\.to)?/g;
/** The fields that the command has options for. Others are fields of a file. */
const KNOWN = new Set([
  ...['layers', 'hidden', 'heads', 'kvHeads', 'ffn', 'vocabulary', 'sequence', 'devices', 'memoryFraction'],
  ...['microBatch', 'accumulation', 'chunks', 'checkpointEvery', 'stage', 'precision', 'schedule', 'count'],
  ...['data', 'fsdp', 'tensor', 'context', 'pipeline', 'offload', 'sequenceParallel', 'flashAttention'],
]);

/** Runs a search whose errors name the options of the command. */
export function withFlags<T>(search: () => T): T {
  try {
    return search();
  } catch (error) {
    if (!(error instanceof AccError)) throw error;
    const { code, message, help, details, cause } = error;
    throw new AccError(code, flagged(message), {
      ...(help !== undefined && { help: flagged(help) }),
      ...{ details, cause },
    });
  }
}

const flagged = (text: string): string =>
  text.replace(NAMES, (name) => {
    const field = name.split('.').at(-1)!;
    const flag = FLAGS[name.replace('plan.constraints', 'constraints')];
    if (flag !== undefined) return flag;
    return KNOWN.has(field) ? `--${field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}` : name;
  });
