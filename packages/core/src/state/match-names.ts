import { AccError } from '@acc/contract';
import { formatIn } from '@acc/kernels';
import type { NamedShape } from './named-tensors.js';

/** The whole tensors of which a rank holds all or some elements. */
export interface LocalNames {
  readonly rank: number;
  readonly wholes: readonly NamedShape[];
}

interface LocalTensor {
  readonly name: string;
  readonly ranks: number[];
  /** By the text of a shape: the shape, and the ranks that give it. */
  readonly shapes: Map<string, { readonly shape: readonly number[]; readonly ranks: number[] }>;
}

/** The most names in a message. */
const SHOWN = 5;

/**
 * Matches the tensors of a checkpoint with those that the ranks hold. They are matched by name. If
 * names differ and the shapes are equal in their order, they are matched by position: tfjs numbers
 * the layers of a process, so a layer may have another name in a new process.
 *
 * @param stored The tensors in the order in which they were prepared before the save.
 * @param held The names of all ranks.
 * @returns Maps a name here to the name in the checkpoint. A name that is unknown here is returned
 * unchanged.
 * @throws AccError `ACC_CHECKPOINT_MISMATCH` that names missing tensors, surplus tensors and
 * tensors of another shape.
 */
export function matchNames(
  stored: readonly NamedShape[],
  held: readonly LocalNames[],
): (name: string) => string {
  const here = heldByName(held);
  const shapes = new Map(stored.map(({ name, shape }) => [name, shape.join()]));
  const hasAll = stored.length === here.size && [...here.keys()].every((name) => shapes.has(name));
  const matches = new Map(
    hasAll
      ? Array.from(here.keys(), (name) => [name, name])
      : Array.from(here.keys(), (name, i) => [name, stored[i]?.name ?? '']),
  );
  const fits = ({ name, shapes: local }: LocalTensor) => {
    const match = matches.get(name)!;
    // Records of different formats may have the same shape.
    return local.size === 1 && local.has(shapes.get(match) ?? 'none') && formatIn(name) === formatIn(match);
  };
  if (stored.length === here.size && [...here.values()].every(fits)) {
    return (name) => matches.get(name) ?? name;
  }
  throw mismatch(stored, here);
}

function heldByName(held: readonly LocalNames[]): ReadonlyMap<string, LocalTensor> {
  const here = new Map<string, LocalTensor>();
  for (const { rank, wholes } of held) {
    for (const { name, shape } of wholes) {
      const known: LocalTensor = here.get(name) ?? { name, ranks: [], shapes: new Map() };
      here.set(name, known);
      known.ranks.push(rank);
      const text = shape.join();
      const held = known.shapes.get(text) ?? { shape, ranks: [] };
      known.shapes.set(text, held);
      held.ranks.push(rank);
    }
  }
  return here;
}

function mismatch(stored: readonly NamedShape[], here: ReadonlyMap<string, LocalTensor>): AccError {
  const shapes = new Map(stored.map(({ name, shape }) => [name, shape]));
  const missing = [...here.values()]
    .filter(({ name }) => !shapes.has(name))
    .map(({ name, ranks }) => ({ name, ranks }));
  const surplus = stored.map(({ name }) => name).filter((name) => !here.has(name));
  const misshapen = [...here.values()].flatMap(({ name, shapes: local }) => {
    const inCheckpoint = shapes.get(name);
    if (!inCheckpoint) return [];
    return [...local.values()]
      .filter(({ shape }) => shape.join() !== inCheckpoint.join())
      .map(({ shape, ranks }) => ({ name, stored: inCheckpoint, here: shape, ranks }));
  });
  const lines = [
    ...listed(
      'The checkpoint does not have',
      missing.map(({ name, ranks }) => `'${name}' (needed by ${ranksText(ranks)})`),
    ),
    ...listed(
      'No rank holds',
      surplus.map((name) => `'${name}'`),
    ),
    ...listed(
      'Shapes differ:',
      misshapen.map(
        (each) =>
          `'${each.name}' is [${each.stored.join()}] in the checkpoint and [${each.here.join()}] on ${ranksText(each.ranks)}`,
      ),
    ),
  ];
  return new AccError(
    'ACC_CHECKPOINT_MISMATCH',
    `${countsText(stored.length, here.size)} ${lines.join(' ')}`,
    {
      help: 'Prepare the same models and lists of variables, in the same order, before loadState.',
      details: { missing, surplus, misshapen },
    },
  );
}

function countsText(stored: number, here: number): string {
  if (stored !== here) return `The checkpoint has ${stored} weights, but the ranks hold ${here}.`;
  return 'The weights of the checkpoint are not those that the ranks hold.';
}

function listed(what: string, items: readonly string[]): string[] {
  if (items.length === 0) return [];
  const more = items.length > SHOWN ? ` and ${items.length - SHOWN} more` : '';
  return [`${what} ${items.slice(0, SHOWN).join(', ')}${more}.`];
}

const ranksText = (ranks: readonly number[]): string =>
  ranks.length === 1 ? `rank ${ranks[0]}` : `ranks ${ranks.join(', ')}`;
