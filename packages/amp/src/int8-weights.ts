import type { Variable } from '@tensorflow/tfjs-core';
import { AccError, matchesGlob } from '@acc/contract';

/**
 * The least size of each dim of a weight that is multiplied in 8 bits by default. Below it, rounding both
 * factors takes about the time that the product saves.
 */
const LEAST_SIZE = 128;

const RECURRENT = '/recurrent_kernel';

/**
 * The weights that are multiplied in 8 bits: matrices of dense layers and projections. Without patterns, the
 * first and the last layer of each list and small matrices are left out. Inputs and results of a model are
 * less evenly distributed than what lies between, so these layers lose most by 8 bits.
 */
export class Int8Weights {
  readonly #chosen: Variable[] = [];
  readonly #unmatched: Set<string>;
  /** Why there may be no weight, for each list. */
  readonly #sixteenBits: string[] = [];
  #count = 0;

  constructor(private readonly exclude: readonly string[] | undefined) {
    this.#unmatched = new Set(exclude);
  }

  /** Takes a list of variables that training gets to know. */
  take(variables: readonly Variable[]): void {
    const layers = variables.filter(({ rank, dtype }) => rank >= 2 && dtype === 'float32');
    const recurrent = new Set(layers.flatMap(({ name }) => (isRecurrent(name) ? [folderOf(name)] : [])));
    this.#count += layers.length;
    layers.forEach((variable, i) => {
      const { name, rank, shape } = variable;
      if (rank > 2 || recurrent.has(folderOf(name))) return void this.#sixteenBits.push(name);
      const isAtEnd = i === 0 || i === layers.length - 1;
      const isExcluded = this.exclude ? this.#matches(name) : isAtEnd || Math.min(...shape) < LEAST_SIZE;
      if (!isExcluded) this.#chosen.push(variable);
    });
  }

  /** @throws AccError `ACC_INVALID_OPTION` for a pattern that matches no weight. */
  get chosen(): readonly Variable[] {
    if (this.#unmatched.size === 0 || this.#count === 0) return this.#chosen;
    const pattern = [...this.#unmatched][0]!;
    throw new AccError(
      'ACC_INVALID_OPTION',
      `amp.exclude: '${pattern}' matches no weight of a dense layer.`,
      {
        help: `Give names of layers or variables, or patterns of them. In 8 bits would be: ${this.#chosen.map(({ name }) => name).join(', ')}.`,
        details: { path: ['amp', 'exclude'], pattern },
      },
    );
  }

  /** Messages about weights that may be expected to compute in 8 bits and do not. */
  get notes(): string[] {
    if (this.#count === 0) return [];
    return [
      ...(this.#chosen.length > 0
        ? []
        : [
            "mixedPrecision 'int8': no weight is multiplied in 8 bits, so products compute in bf16. The first and the last layer are left out, and matrices with fewer than 128 rows or columns. amp: { exclude: [] } takes them, too.",
          ]),
      ...(this.#sixteenBits.length > 0
        ? [
            `mixedPrecision 'int8': only products of matrices compute in 8 bits. Convolutions, recurrent layers and stacks of matrices compute in bf16: ${listed(this.#sixteenBits)}.`,
          ]
        : []),
    ];
  }

  #matches(name: string): boolean {
    const globs = this.exclude!.filter(
      (glob) => matchesGlob(name, glob) || matchesGlob(folderOf(name), glob),
    );
    for (const glob of globs) this.#unmatched.delete(glob);
    return globs.length > 0;
  }
}

/** tfjs appends a number to a name that exists. */
const isRecurrent = (name: string): boolean => name.replace(/_\d+$/, '').endsWith(RECURRENT);
const folderOf = (name: string): string => name.replace(/\/[^/]*$/, '');

const SHOWN = 3;
function listed(names: readonly string[]): string {
  const more = names.length > SHOWN ? ` and ${names.length - SHOWN} more` : '';
  return `${names.slice(0, SHOWN).join(', ')}${more}`;
}
