import { AccError, hashOf, type ReduceOp } from '@acc/contract';
import { CALL_WORDS, COMPARED_WORDS } from '@acc/native';
import { rankName } from './rank-name.js';
import type { Member } from './member.js';

/** Collectives that ranks compare. Their order is part of the wire format. */
export const COLLECTIVES = [
  'broadcast',
  'allReduce',
  'reduce',
  'allGather',
  'gather',
  'scatter',
  'reduceScatter',
  'allToAll',
  'barrier',
  'broadcastObject',
  'allGatherObject',
  'subgroup',
] as const;
export type CollectiveName = (typeof COLLECTIVES)[number];

/** Reductions that ranks compare. Their order is part of the wire format. */
export const REDUCE_OPS: readonly ReduceOp[] = ['sum', 'mean', 'max', 'min', 'product'];
const DTYPES = [
  'float32',
  'int32',
  'bool',
  'complex64',
  'float64',
  'bfloat16',
  'float16',
  'int64',
  'int16',
  'int8',
  'uint8',
] as const;

/** The code of a dtype in the wire format; -1 for an unknown dtype. */
export function dtypeCode(dtype: string): number {
  return DTYPES.indexOf(dtype as (typeof DTYPES)[number]);
}

export function dtypeOfCode(code: number): string {
  return DTYPES[code] ?? 'unknown';
}

/** The wire value of a number of rows that may differ between ranks. */
const ANY_ROWS = -1;

/** The description of a call that a rank is about to make. It must be the same on every rank. */
export interface CallDescription {
  readonly collective: CollectiveName;
  /** The native element type. Absent if ranks may have different ones. */
  readonly dtype?: string;
  readonly shape?: readonly number[];
  /** Whether ranks may have different numbers of rows. */
  readonly hasFreeRows?: boolean;
  readonly op?: ReduceOp;
  /** The rank that the call sends from or collects on. */
  readonly root?: number;
  /**
   * The bytes that this rank sends to others, if they do not follow from the shape. Ranks do not
   * compare it.
   */
  readonly sentBytes?: number;
}

export const MAX_DIMS = 8;
const FIRST_DIM = 5;
const COALESCED = FIRST_DIM + MAX_DIMS;
const NAME = COALESCED + 2;
/** The number of rows of this rank. It is used in error messages only. */
const ROWS = COMPARED_WORDS;
/**
 * The word that is 1 in the exchange of descriptions before a call; `kComparisonWord` in the
 * engines.
 */
export const IS_COMPARISON = CALL_WORDS - 2;
/**
 * The word with the call's number: its position among the calls of its group, from 1. It is the
 * same on every rank.
 */
export const NUMBER = CALL_WORDS - 1;

/** With these, a thread without this module reads the words of a call. */
export const CALL_TABLES = {
  collectives: COLLECTIVES,
  dtypes: DTYPES,
  ops: REDUCE_OPS,
  words: CALL_WORDS,
  firstDim: FIRST_DIM,
  mostDims: MAX_DIMS,
  anyRows: ANY_ROWS,
  rows: ROWS,
  coalesced: COALESCED,
  number: NUMBER,
} as const;

/** A call description in the wire format. All words are zero if a rank makes no call. */
export type Words = readonly number[];

/** Properties of a call that are not among its arguments. */
interface CallSetting {
  /** The {@link codeOfName} of what the call is made for; 0 if no name was given. */
  readonly name?: number;
  /**
   * Shapes of the tensors that travel in one call. The shape in the description is then that of the
   * packed tensor.
   */
  readonly coalesced?: readonly (readonly number[])[] | undefined;
}

/**
 * Encodes a description as int32 words. Every description has the same number of words, so ranks
 * can exchange descriptions even if they make different calls.
 *
 * @param number The call's position among the calls of its group, from 1.
 */
export function encodeDescription(
  call: CallDescription,
  number: number,
  { name = 0, coalesced }: CallSetting = {},
): Words {
  // Creating a plain array of numbers takes a tenth of the time of a typed array at this size (80
  // bytes).
  const words = new Array<number>(CALL_WORDS).fill(0);
  words[0] = COLLECTIVES.indexOf(call.collective);
  words[1] = call.dtype === undefined ? -1 : dtypeCode(call.dtype);
  words[2] = call.op === undefined ? -1 : REDUCE_OPS.indexOf(call.op);
  words[3] = call.root ?? -1;
  words[4] = call.shape?.length ?? -1;
  words[NUMBER] = number;
  if (call.shape)
    for (let i = 0; i < Math.min(call.shape.length, MAX_DIMS); i++) words[FIRST_DIM + i] = call.shape[i]!;
  if (call.hasFreeRows) {
    words[FIRST_DIM] = ANY_ROWS;
    words[ROWS] = call.shape![0]!;
  }
  if (coalesced) {
    words[COALESCED] = coalesced.length;
    words[COALESCED + 1] = hashOf(JSON.stringify(coalesced));
  }
  words[NAME] = name;
  return words;
}

/**
 * The names of methods whose collectives have no name of their own. A message knows them even if this
 * rank made no such call.
 */
const METHODS = ['saveState()', 'loadState()'];

/** The names that this rank knows, by their codes. They are used in error messages. */
const names = new Map<number, string>();
const codes = new Map<string, number>([['', 0]]);

/**
 * The code of a name in the wire format, the same on every rank. Registers the name for later error
 * messages.
 */
export function codeOfName(name: string): number {
  let code = codes.get(name);
  if (code === undefined) {
    code = hashOf(name) || 1;
    codes.set(name, code);
    names.set(code, name);
  }
  return code;
}

/** Whether calls agree. `words` holds the description of every rank, by rank. */
export function doAgree(words: readonly Words[]): boolean {
  const first = words[0]!;
  return words.every((local) => first.every((word, i) => i >= COMPARED_WORDS || local[i] === word));
}

/**
 * Creates an `ACC_COLLECTIVE_MISMATCH` error with one line for each rank.
 *
 * @param places By rank, the line of the program that made the call, or the last known one, if known.
 * @param members The members of the group, by rank, if known.
 */
export function mismatch(
  words: readonly Words[],
  places: readonly (string | undefined)[],
  members?: readonly Member[],
): AccError {
  const methods = METHODS.map(codeOfName);
  const calls = words.map(formatWords);
  const purposes = new Set(words.map((local) => local[NAME]!).filter((code) => code !== 0));
  const isOfMethod = methods.some((code) => purposes.has(code));
  const isForDifferent = purposes.size > 1 && !isOfMethod;
  const lines = calls.map((call, rank) => {
    const place = places[rank];
    return `  ${rankName(rank, members)}: ${call}${place ? `, ${place}` : ''}`;
  });
  return new AccError('ACC_COLLECTIVE_MISMATCH', `Ranks called different collectives:\n${lines.join('\n')}`, {
    help: isForDifferent
      ? 'Ranks do different work, or the same in a different order. Prepare the same variables and use the same layers, in the same order, on every rank. Await one training loop before you start the next.'
      : 'Await every call, on every rank, in the same order: put none inside `if (isMainProcess)`. ' +
        'If ranks share a model (fsdp, or a mesh), this includes predict, evaluate, generate, getWeights and reading a weight. ' +
        'Tensors need the same dtype and shape.',
    details: { calls },
  });
}

/** Formats a call for a message: `allReduce(float32[2,3], 'sum')`. */
export function formatWords(words: Words): string {
  if (words.every((word) => word === 0)) return 'nothing';
  const [collective, dtype, op, root, dims] = words;
  const count = words[COALESCED]!;
  const shape = words.slice(FIRST_DIM, FIRST_DIM + Math.min(dims!, MAX_DIMS));
  const sizes = shape.map((size) => (size === ANY_ROWS ? words[ROWS] : size)).join(',');
  const parts = [
    dims! >= 0 && `${dtype! >= 0 ? dtypeOfCode(dtype!) : ''}[${sizes}]`,
    count > 0 && `of ${count} tensors`,
    op! >= 0 && `'${REDUCE_OPS[op!]}'`,
    root! >= 0 && `rank ${root}`,
  ];
  const name = names.get(words[NAME]!);
  const purpose = name === undefined ? ' (the output of that rank says for what)' : ` for ${name}`;
  return `${COLLECTIVES[collective!] ?? 'unknown'}(${parts.filter(Boolean).join(', ')})${words[NAME] === 0 ? '' : purpose}`;
}
