import type { Tensor2D } from '@tensorflow/tfjs-core';
import { AccError, isAccError, requireEqualOptions } from '@acc/contract';
import type { ForwardRanks } from '@acc/tape';
import type { GenerateSettings } from './options.js';
import { newSeed } from './sampling.js';

/** Checked arguments. */
export interface Ready {
  readonly prompt: Tensor2D;
  readonly settings: GenerateSettings;
}

/** The message of a rank to the others before the first forward pass. */
interface Told {
  /** The rank in the job. */
  readonly rank: number;
  /** The first of the ranks that have the same rows. */
  readonly rows: number;
  readonly seed: number;
  readonly refusal: { readonly message: string; readonly code: string | null } | null;
  readonly options: GenerateSettings | null;
  /** The prompts. Null if no other rank has the same rows. */
  readonly prompt: { readonly shape: readonly number[]; readonly tokens: Int32Array } | null;
}

/**
 * Prepares on all ranks, and compares what they were given. Either all go on or all throw.
 *
 * @returns The same seed on every rank.
 */
export function requireAgreement(
  { sameRows, all }: ForwardRanks,
  prepare: () => Ready,
): { readonly ready: Ready; readonly seed: number } {
  const own = attempt(prepare);
  const { ready } = own;
  const told = all.allGatherObject<Told>({
    rank: all.worldRanks[all.rank]!,
    rows: sameRows.worldRanks[0]!,
    seed: newSeed(),
    refusal: ready ? null : refusalOf(own.error),
    options: ready?.settings ?? null,
    prompt: ready && sameRows.size > 1 ? promptValues(ready.prompt) : null,
  });
  if (!ready) throw own.error;
  requireNoRefusal(told);
  for (const rows of new Set(told.map((each) => each.rows))) {
    requireSame(told.filter((each) => each.rows === rows));
  }
  return { ready, seed: told[0]!.seed };
}

type Attempt = { readonly ready: Ready } | { readonly ready?: undefined; readonly error: unknown };

function attempt(prepare: () => Ready): Attempt {
  try {
    return { ready: prepare() };
  } catch (error) {
    return { error };
  }
}

function promptValues(prompt: Tensor2D): Told['prompt'] {
  return { shape: prompt.shape, tokens: Int32Array.from(prompt.dataSync()) };
}

function refusalOf(error: unknown): Told['refusal'] {
  const message = error instanceof Error ? error.message : String(error);
  return { message, code: isAccError(error) ? error.code : null };
}

function requireNoRefusal(told: readonly Told[]): void {
  const refused = told.find(({ refusal }) => refusal);
  if (!refused) return;
  const { rank } = refused;
  const { message, code } = refused.refusal!;
  throw new AccError(
    'ACC_GENERATION_REFUSED',
    `generate: rank ${rank} did not begin: ${code === null ? '' : `${code}: `}${message}`,
    {
      help: `Correct the cause on rank ${rank}, which throws the error with its stack. These ranks compute the model together, so none of them has begun.`,
      details: { rank, code },
    },
  );
}

/** @param told Of the ranks that have the same rows. */
function requireSame(told: readonly Told[]): void {
  const ranks = told.map(({ rank }) => rank);
  requireEqualOptions(
    'generate',
    told.map(({ rank, options }) => ({ rank, options: { ...options } })),
    `Ranks ${ranks.join(', ')} compute the same rows together: give generate the same options on each.`,
  );
  requireSamePrompts(told);
}

function requireSamePrompts(told: readonly Told[]): void {
  const [first, ...others] = told as [Told, ...Told[]];
  const other = others.find(({ prompt }) => placeOfDifference(first.prompt!, prompt!) !== undefined);
  if (!other) return;
  const place = placeOfDifference(first.prompt!, other.prompt!)!;
  const lines = [first, other].map(({ rank, prompt }) => `    rank ${rank}: ${described(prompt!, place)}`);
  const ranks = told.map(({ rank }) => rank);
  throw new AccError(
    'ACC_BATCHES_DIFFER',
    `generate: ranks that compute the same rows together were given different prompts:\n${lines.join('\n')}`,
    {
      help: `Give ranks ${ranks.join(', ')} the same prompts. Ranks that differ in the mesh axes data, fsdp or expert may have prompts of their own.`,
      details: { ranks, what: 'prompts' },
    },
  );
}

type Prompt = NonNullable<Told['prompt']>;

/** The index of the first token that differs, -1 for other shapes. Undefined for equal prompts. */
function placeOfDifference(a: Prompt, b: Prompt): number | undefined {
  if (a.shape.join() !== b.shape.join()) return -1;
  const place = a.tokens.findIndex((token, i) => token !== b.tokens[i]);
  return place === -1 ? undefined : place;
}

function described({ shape, tokens }: Prompt, place: number): string {
  if (place === -1) return `[${shape.join(', ')}]`;
  const length = shape[1]!;
  return `token ${tokens[place]} at [${Math.floor(place / length)}, ${place % length}]`;
}
