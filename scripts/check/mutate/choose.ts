// Which mutants of the repository a seed chooses.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { filesBelow, isSource } from '../source/sources.js';
import { cppMutants } from './cpp-mutants.js';
import { MUTANT_KINDS, type Mutant } from './mutant.js';
import { typescriptMutants } from './typescript-mutants.js';

/** C++ is chosen as often as this number of packages. */
const WEIGHT_OF_CPP = 4;
const CPP = 'packages/native/cpp';
/** Helpers of tests, code of others, and C++ that this machine does not compile. */
const LEFT_OUT =
  /\/testing\/|\/test-support\.ts$|\/fixtures\/|\/third_party\/|\/gloo_headers\/|nccl|\/mpi|cuda/;

export interface Part {
  /** `packages/fsdp`, or `packages/native/cpp`. */
  readonly name: string;
  readonly files: readonly string[];
}

/** The packages and the C++ sources, in the order in which a seed draws from them. */
export function partsOf(root: string): Part[] {
  const files = filesBelow(root, 'packages').filter((path) => !LEFT_OUT.test(path));
  const sources = files.filter(isSource);
  const packages = [...new Set(sources.map((path) => path.split('/', 2).join('/')))];
  const cpp = files.filter((path) => path.startsWith(`${CPP}/`) && /\.(cpp|h)$/.test(path));
  return [
    ...packages.map((name) => ({ name, files: sources.filter((path) => path.startsWith(`${name}/`)) })),
    ...Array.from({ length: WEIGHT_OF_CPP }, () => ({ name: CPP, files: cpp })),
  ];
}

/**
 * `count` mutants, each in another part as long as there are some. The same seed chooses the same
 * mutants in the same sources.
 */
export function chooseMutants(root: string, parts: readonly Part[], seed: number, count: number): Mutant[] {
  const random = randomNumbers(seed);
  const draw = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)]!;
  const mutantsOf = reader(root);
  const chosen: Mutant[] = [];
  let round: Part[] = [];
  // A part may have no mutants left; the bound ends a search for more than there are.
  for (let tries = 0; chosen.length < count && tries < 100 * count; tries++) {
    if (round.length === 0) round = shuffled(parts, random);
    const file = draw(round.pop()!.files);
    const kind = draw(MUTANT_KINDS);
    const isFree = (mutant: Mutant): boolean => !chosen.some((other) => overlaps(other, mutant));
    const possible = mutantsOf(file).filter((mutant) => mutant.kind === kind && isFree(mutant));
    if (possible.length > 0) chosen.push(draw(possible));
  }
  return chosen;
}

function reader(root: string): (path: string) => readonly Mutant[] {
  const known = new Map<string, readonly Mutant[]>();
  return (path) => {
    if (!known.has(path)) {
      const text = readFileSync(join(root, path), 'utf8');
      known.set(path, path.endsWith('.ts') ? typescriptMutants(path, text) : cppMutants(path, text));
    }
    return known.get(path)!;
  };
}

const overlaps = (a: Mutant, b: Mutant): boolean => a.path === b.path && a.start < b.end && b.start < a.end;

function shuffled<T>(values: readonly T[], random: () => number): T[] {
  const order = values.map((value) => ({ value, at: random() }));
  return order.sort((a, b) => a.at - b.at).map(({ value }) => value);
}

/** Marsaglia's xorshift with 32 bits, from 0 to 1. */
function randomNumbers(seed: number): () => number {
  let state = (Math.imul(seed, 0x9e3779b1) ^ 0x85ebca6b) >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state / 2 ** 32;
  };
}
