import { AccError, nearestName } from '@acc/contract';

/** A weight that is averaged. */
export interface WeightInfo {
  readonly name: string;
  readonly shape: readonly number[];
}

/** The weights of a model as one flat vector, in the order of the coordinator. */
export interface WeightLayout {
  readonly weights: readonly WeightInfo[];
  /** The number of elements of each weight. */
  readonly sizes: readonly number[];
  /** The number of elements of all weights. */
  readonly total: number;
}

export function layoutOf(weights: readonly WeightInfo[]): WeightLayout {
  const sizes = weights.map(({ shape }) => shape.reduce((count, length) => count * length, 1));
  return { weights, sizes, total: sizes.reduce((sum, size) => sum + size, 0) };
}

/** Calls `visit` with the index, the first element and the number of elements of each weight. */
export function eachWeight(
  { sizes }: WeightLayout,
  visit: (index: number, start: number, size: number) => void,
): void {
  let start = 0;
  sizes.forEach((size, index) => {
    visit(index, start, size);
    start += size;
  });
}

/**
 * The position of each weight of `theirs` among `own`. Weights are matched by name. If the names
 * differ, but the list of shapes is the same, they are matched by position: tfjs numbers layers in
 * the order of their creation in a process.
 *
 * @throws AccError `ACC_FEDERATED_MODEL`, which names the first difference.
 */
export function matchWeights(theirs: readonly WeightInfo[], own: readonly WeightInfo[]): number[] {
  const positions = new Map(own.map(({ name }, i) => [name, i]));
  const hasSameNames =
    positions.size === own.length &&
    theirs.length === own.length &&
    theirs.every(({ name }) => positions.has(name));
  const order = theirs.map(({ name }, i) => (hasSameNames ? positions.get(name)! : i));
  const first = theirs.findIndex(({ shape }, i) => own[order[i]!]?.shape.join() !== shape.join());
  if (first < 0 && theirs.length === own.length) return order;
  throw mismatch(theirs, own, Math.max(first, 0));
}

function mismatch(theirs: readonly WeightInfo[], own: readonly WeightInfo[], first: number): AccError {
  const show = (weight: WeightInfo | undefined) =>
    weight ? `'${weight.name}' with the shape [${weight.shape.join()}]` : 'no weight';
  const name = theirs[first]?.name ?? '';
  const near = own.find(
    (weight) =>
      weight.name ===
      nearestName(
        name,
        own.map((each) => each.name),
      ),
  );
  const counts =
    theirs.length === own.length
      ? ''
      : ` The coordinator has ${theirs.length} weights, this model ${own.length}.`;
  return new AccError(
    'ACC_FEDERATED_MODEL',
    `The model differs from that of the coordinator: weight ${first} is ${show(theirs[first])} there, and ${show(near ?? own[first])} here.${counts}`,
    {
      help: 'Build the same model in the coordinator and in every client.',
      details: { coordinator: theirs, own },
    },
  );
}
