import type { Variable } from '@tensorflow/tfjs-core';
import { AccError, matchesGlob } from '@acc/contract';

/**
 * The least size of each dim of a weight that is multiplied in 8 bits by default. Below it, rounding both
 * factors takes about the time that the product saves.
 */
const LEAST_SIZE = 128;

const RECURRENT = '/recurrent_kernel';
const EMBEDDINGS = '/embeddings';

/**
 * The weights that are multiplied in 8 bits: matrices of dense layers and projections. Without patterns, the
 * first and the last matrix of each list and small matrices are left out. Inputs and results of a model are
 * less evenly distributed than what lies between, so these layers lose most by 8 bits.
 */
export class EightBitWeights {
  #chosen: Variable[] = [];
  readonly #unmatched: Set<string>;
  /** The names of all matrices that patterns may leave out. */
  readonly #matrices: string[] = [];
  /** The weights that are no matrices, for each list. */
  readonly #sixteenBits: string[] = [];
  /** The layers that round their weights by themselves, for each list. */
  readonly #rounded = new Set<string>();
  #isAnyTaken = false;

  constructor(
    private readonly exclude: readonly string[] | undefined,
    /** Whether a weight is stored in fewer bits, which products take as it is. */
    private readonly isPacked: (weight: Variable) => boolean = () => false,
    /** As in messages. */
    private readonly precision: 'int8' | 'fp8' = 'int8',
    /** Whether the layer of a weight rounds it by itself, and multiplies the result. */
    private readonly isFakeQuantized: (weight: Variable) => boolean = () => false,
  ) {
    this.#unmatched = new Set(exclude);
  }

  /** Takes a list of variables that training gets to know. */
  take(variables: readonly Variable[]): void {
    const floats = variables.filter(
      (variable) => variable.rank >= 2 && variable.dtype === 'float32' && !this.isPacked(variable),
    );
    for (const { name } of floats.filter(this.isFakeQuantized)) {
      this.#rounded.add(folderOf(name));
      if (this.exclude) this.#matches(name);
    }
    const layers = floats.filter((variable) => !this.isFakeQuantized(variable));
    const recurrent = new Set(layers.flatMap(({ name }) => (isRecurrent(name) ? [folderOf(name)] : [])));
    this.#isAnyTaken ||= variables.length > 0;
    this.#chosen = this.chosen;
    layers.forEach((variable, i) => {
      const { name, rank, shape } = variable;
      if (rank > 2 || recurrent.has(folderOf(name))) return void this.#sixteenBits.push(name);
      this.#matrices.push(name);
      const isAtEnd = i === 0 || i === layers.length - 1;
      const isExcluded = this.exclude ? this.#matches(name) : isAtEnd || Math.min(...shape) < LEAST_SIZE;
      if (!isExcluded) this.#chosen.push(variable);
    });
  }

  get chosen(): Variable[] {
    return this.#chosen.filter(({ isDisposed }) => !isDisposed);
  }

  /** A pattern that has matched no weight so far. Undefined: none, or there are no weights yet. */
  get unmatched(): string | undefined {
    return this.#isAnyTaken ? [...this.#unmatched][0] : undefined;
  }

  /** @throws AccError `ACC_INVALID_OPTION` for a pattern that matches no weight. */
  requireMatches(): void {
    const pattern = this.unmatched;
    if (pattern === undefined) return;
    const known =
      this.#matrices.length > 0 ? `Prepared are: ${listed(this.#matrices)}.` : 'No such weight is prepared.';
    throw new AccError(
      'ACC_INVALID_OPTION',
      `amp.exclude: '${pattern}' matches no weight of a dense layer.`,
      {
        help: `Give names of layers or variables, or patterns of them. ${known}`,
        details: { path: ['amp', 'exclude'], pattern },
      },
    );
  }

  /** Messages about weights that may be expected to compute in 8 bits and do not. */
  get notes(): string[] {
    if (!this.#isAnyTaken) return [];
    const isAny = this.#chosen.some(({ name }) => !isNamed(name, EMBEDDINGS));
    return [
      ...(isAny
        ? []
        : [
            `mixedPrecision '${this.precision}': no weight is multiplied in 8 bits, so products compute in bf16. ${this.#whyNone()}`,
          ]),
      ...(this.#sixteenBits.length > 0
        ? [
            `mixedPrecision '${this.precision}': only products of matrices compute in 8 bits. Convolutions, recurrent layers and stacks of matrices compute in bf16: ${listed(this.#sixteenBits)}.`,
          ]
        : []),
      ...this.#ofRounded(),
    ];
  }

  #ofRounded(): string[] {
    if (this.#rounded.size === 0) return [];
    return [
      `mixedPrecision '${this.precision}': layers that prepareQat has prepared compute in bf16, with the weights that they round: ${listed([...this.#rounded])}.`,
    ];
  }

  #whyNone(): string {
    const matrices = this.#matrices.filter((name) => !isNamed(name, EMBEDDINGS));
    if (matrices.length === 0)
      return `No ${this.#rounded.size > 0 ? 'other ' : ''}prepared weight is a matrix of a dense layer.`;
    if (this.exclude) return `amp.exclude leaves out all: ${listed(matrices)}.`;
    return 'The first and the last matrix are left out, and matrices with fewer than 128 rows or columns. amp: { exclude: [] } takes them, too.';
  }

  #matches(name: string): boolean {
    const names = [...foldersOf(name), name, withoutNumber(name)];
    const globs = this.exclude!.filter((glob) => names.some((one) => matchesGlob(one, glob)));
    for (const glob of globs) this.#unmatched.delete(glob);
    return globs.length > 0;
  }
}

/** The name of a layer's weight as the layer gave it: tfjs appends a number if the name exists. */
const withoutNumber = (name: string): string => (name.includes('/') ? name.replace(/_\d+$/, '') : name);
const isNamed = (name: string, end: string): boolean => withoutNumber(name).endsWith(end);
const isRecurrent = (name: string): boolean => isNamed(name, RECURRENT);
const folderOf = (name: string): string => name.replace(/\/[^/]*$/, '');

/** The layer of a weight and the layers around it: `block` and `block/mlp` of `block/mlp/kernel`. */
function foldersOf(name: string): string[] {
  const parts = name.split('/').slice(0, -1);
  return parts.map((_, i) => parts.slice(0, i + 1).join('/'));
}

const SHOWN = 3;
function listed(names: readonly string[]): string {
  const more = names.length > SHOWN ? ` and ${names.length - SHOWN} more` : '';
  return `${names.slice(0, SHOWN).join(', ')}${more}`;
}
