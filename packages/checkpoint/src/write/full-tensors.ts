import { AccError } from '@acc/contract';
import { intersection, type Box } from '../format/boxes.js';
import { elementsOf } from '../format/dtypes.js';

/** Elements of a whole tensor that a rank holds. */
export interface Claim extends Box {
  /** The name of the whole tensor. */
  readonly name: string;
  readonly dtype: string;
  /** The shape of the whole tensor. */
  readonly shape: readonly number[];
}

/** A box of a whole tensor, and the ranks that hold it. */
export interface BoxOwners extends Box {
  /** Ranks in ascending order; at least one. */
  readonly ranks: readonly number[];
}

/** A tensor that all ranks hold together. */
export interface FullTensor {
  readonly name: string;
  readonly dtype: string;
  readonly shape: readonly number[];
  /** The boxes have elements and do not overlap. A tensor without elements has no boxes. */
  readonly boxes: readonly BoxOwners[];
}

interface Gathered {
  readonly first: Claim;
  readonly firstRank: number;
  /** The boxes by offset and sizes. */
  readonly boxes: Map<string, { readonly box: Box; readonly ranks: number[] }>;
}

const SHOWN = 5;

/**
 * Combines the claims of all ranks by the name of the whole tensor.
 *
 * @param claims The claims of each rank, by rank.
 * @param mayLack Whether a tensor of that name may have elements that no rank holds. Default:
 * never.
 * @returns The tensors in the order of the claims, those of rank 0 first.
 * @throws AccError `ACC_STATE_INVALID` if ranks disagree on the shape or dtype of a tensor, hold
 * shards that overlap, or lack elements. It names each such tensor and its ranks.
 */
export function fullTensorsOf(
  claims: readonly (readonly Claim[])[],
  mayLack: (name: string) => boolean = () => false,
): FullTensor[] {
  const problems: Problem[] = [];
  const byName = gather(claims, problems);
  const wholes = Array.from(byName, ([name, { first, boxes }]) => ({
    name,
    dtype: first.dtype,
    shape: first.shape,
    boxes: Array.from(boxes.values(), ({ box, ranks }) => ({
      offset: box.offset,
      sizes: box.sizes,
      ranks,
    })),
  }));
  const disagreed = new Set(problems.map(({ name }) => name));
  for (const full of wholes) {
    if (disagreed.has(full.name)) continue;
    const problem = overlapIn(full) ?? (mayLack(full.name) ? undefined : gapIn(full));
    if (problem) problems.push(problem);
  }
  if (problems.length > 0) throw invalid(problems, claims.length);
  return wholes;
}

interface Problem {
  readonly name: string;
  readonly ranks: readonly number[];
  readonly message: string;
}

function gather(claims: readonly (readonly Claim[])[], problems: Problem[]): ReadonlyMap<string, Gathered> {
  const byName = new Map<string, Gathered>();
  const on = (rank: number) => (claims.length > 1 ? ` on rank ${rank}` : '');
  claims.forEach((list, rank) => {
    for (const claim of list) {
      const { name } = claim;
      const known = byName.get(name) ?? { first: claim, firstRank: rank, boxes: new Map() };
      byName.set(name, known);
      const { first, firstRank } = known;
      if (describe(first) !== describe(claim)) {
        const message = `'${name}' is ${describe(first)}${on(firstRank)} and ${describe(claim)}${on(rank)}`;
        problems.push({ name, ranks: [firstRank, rank], message });
      } else if (elementsOf(claim.sizes) > 0) {
        const key = `${claim.offset.join()}+${claim.sizes.join()}`;
        const held = known.boxes.get(key) ?? { box: claim, ranks: [] };
        if (held.ranks.includes(rank)) {
          problems.push({ name, ranks: [rank], message: `two tensors${on(rank)} have the name '${name}'` });
        }
        held.ranks.push(rank);
        known.boxes.set(key, held);
      }
    }
  });
  return byName;
}

/**
 * Sorts the boxes by their first index along dim 0, so that only neighbours have to be compared.
 */
function overlapIn({ name, boxes }: FullTensor): Problem | undefined {
  const start = ({ offset }: Box) => offset[0] ?? 0;
  const sorted = [...boxes].sort((a, b) => start(a) - start(b));
  for (const [i, box] of sorted.entries()) {
    const end = start(box) + (box.sizes[0] ?? 1);
    for (let next = i + 1; next < sorted.length && start(sorted[next]!) < end; next++) {
      const other = sorted[next]!;
      if (!intersection(box, other)) continue;
      const ranks = [box.ranks[0]!, other.ranks[0]!];
      const message = `parts of '${name}' overlap: rank ${ranks[0]} holds ${boxText(box)}, and rank ${ranks[1]} holds ${boxText(other)}`;
      return { name, ranks, message };
    }
  }
  return undefined;
}

function gapIn({ name, shape, boxes }: FullTensor): Problem | undefined {
  const held = boxes.reduce((sum, { sizes }) => sum + elementsOf(sizes), 0);
  if (held === elementsOf(shape)) return undefined;
  const ranks = [...new Set(boxes.flatMap((box) => box.ranks))];
  return {
    name,
    ranks,
    message: `all ranks together hold only ${held} of the ${elementsOf(shape)} elements of '${name}'`,
  };
}

function invalid(problems: readonly Problem[], ranks: number): AccError {
  const shown = problems.slice(0, SHOWN).map(({ message }) => message);
  if (problems.length > SHOWN) shown.push(`${problems.length - SHOWN} more tensors like these`);
  return new AccError(
    'ACC_STATE_INVALID',
    `${ranks > 1 ? 'Ranks disagree on the tensors that they hold' : 'Tensors cannot be saved under their names'}: ${shown.join('; ')}.`,
    {
      help: 'Give different tensors different names. All shards of one tensor must state the same whole shape and must not overlap.',
      details: { tensors: problems.map(({ name, ranks }) => ({ name, ranks })) },
    },
  );
}

const describe = ({ dtype, shape }: Claim): string => `${dtype} [${shape.join()}]`;

const boxText = ({ offset, sizes }: Box): string =>
  `[${offset.map((first, dim) => `${first}:${first + sizes[dim]!}`).join()}]`;
