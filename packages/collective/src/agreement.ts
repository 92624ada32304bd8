import { AccError, type ReduceOp } from '@acc/contract';
import { CALL_WORDS, COMPARED_WORDS } from '@acc/native';
import { rankName, type Member } from './rendezvous.js';

/** Collectives as they are compared across ranks; the order is part of the wire format. */
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

/** As they are compared across ranks; the order is part of the wire format. */
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

/** The number of a dtype on the wire. */
export function dtypeCode(dtype: string): number {
  return DTYPES.indexOf(dtype as (typeof DTYPES)[number]);
}

export function dtypeOfCode(code: number): string {
  return DTYPES[code] ?? 'unknown';
}

/** On the wire: rows that may differ between ranks. */
const ANY_ROWS = -1;

/** What a rank is about to call: what must be alike everywhere. */
export interface CallDescription {
  readonly collective: CollectiveName;
  /** The native element type; absent where ranks need not have one. */
  readonly dtype?: string;
  readonly shape?: readonly number[];
  /** Ranks may have different numbers of rows. */
  readonly hasFreeRows?: boolean;
  readonly op?: ReduceOp;
  /** The rank that gives, or gets. */
  readonly root?: number;
}

export const MAX_DIMS = 8;
const FIRST_DIM = 5;
const COALESCED = FIRST_DIM + MAX_DIMS;
const NAME = COALESCED + 2;
/** For error messages only. */
const ROWS = COMPARED_WORDS;
/** 1 in the exchange of descriptions before a call; kComparisonWord of the engines. */
export const IS_COMPARISON = CALL_WORDS - 2;
/** The call's place among those of its group, from 1, alike on every rank. */
export const NUMBER = CALL_WORDS - 1;

/** A description on the wire. All zeros where a rank calls nothing. */
export type Words = readonly number[];

/** What a call has beside its own arguments. */
interface CallSetting {
  /** What it is made for, by its {@link codeOfName}; 0 where nobody said. */
  readonly name?: number;
  /** Shapes of tensors that travel together; the call's own is then that of the whole. */
  readonly coalesced?: readonly (readonly number[])[] | undefined;
}

/**
 * A description as int32 numbers, all of the same count, so that ranks can exchange them whatever they call.
 *
 * @param number The call's place among those of its group.
 */
export function encodeDescription(
  call: CallDescription,
  number: number,
  { name = 0, coalesced }: CallSetting = {},
): Words {
  // An array of numbers: one of 80 bytes is made in a tenth of a typed array's time.
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

/** Names by their numbers on the wire, for messages: those that this rank knows. */
const names = new Map<number, string>();
const codes = new Map<string, number>([['', 0]]);

/** The number of a name on the wire, alike on every rank. From now on messages can tell the name. */
export function codeOfName(name: string): number {
  let code = codes.get(name);
  if (code === undefined) {
    code = hashOf(name) || 1;
    codes.set(name, code);
    names.set(code, name);
  }
  return code;
}

function hashOf(text: string): number {
  let hash = 0;
  for (let i = 0; i < text.length; i++) hash = (Math.imul(hash, 31) + text.charCodeAt(i)) | 0;
  return hash;
}

/** Whether calls fit together. `words`: every rank's description, by rank. */
export function doAgree(words: readonly Words[]): boolean {
  const first = words[0]!;
  return words.every((own) => first.every((word, i) => i >= COMPARED_WORDS || own[i] === word));
}

/**
 * `ACC_COLLECTIVE_MISMATCH` with a line for each rank.
 *
 * @param members Of the group, by rank, where they are known.
 * @param own This rank, and `at` or `near` with the line of the program that made the call, where it is known.
 */
export function mismatch(
  words: readonly Words[],
  own: { rank: number; place?: string | undefined },
  members?: readonly Member[],
): AccError {
  const calls = words.map(formatWords);
  const isForDifferent = new Set(words.map((own) => own[NAME]).filter((code) => code !== 0)).size > 1;
  const lines = calls.map((call, rank) => {
    const place = rank === own.rank && own.place ? `, ${own.place}` : '';
    return `  ${rankName(rank, members)}: ${call}${place}`;
  });
  return new AccError('ACC_COLLECTIVE_MISMATCH', `Ranks called different collectives:\n${lines.join('\n')}`, {
    help: isForDifferent
      ? 'Loops that run at once take their steps in an order that timing decides, another on each rank: await one before the next.'
      : 'Every rank must call the same collectives in the same order, with the same dtype and shape; so must what uses them: ' +
        'prepare, saveState, initTrackers and others are not for `if (isMainProcess)`.',
    details: { calls },
  });
}

/** The call as a person reads it: `allReduce(float32[2,3], 'sum')`. */
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
  const name =
    words[NAME] === 0 ? '' : ` for ${names.get(words[NAME]!) ?? 'a name that this rank does not know'}`;
  return `${COLLECTIVES[collective!] ?? 'unknown'}(${parts.filter(Boolean).join(', ')})${name}`;
}
