import { engineInternals, patch, type Undo } from '@acc/tfjs-internals';

/**
 * Notes the units that kernels load themselves, and says so when the outermost operator has ended: no
 * kernel has memory of units at hand then.
 */
export class Unannounced<Unit> {
  readonly #loaded = new Set<Unit>();
  /** The number of operators that are running, one within the other. */
  #depth = 0;

  /** @param onEnd Gets the units that the operator has loaded. */
  constructor(private readonly onEnd: (loaded: ReadonlySet<Unit>) => void) {}

  add(unit: Unit): void {
    this.#loaded.add(unit);
  }

  /** Watches operators until the returned function is called. */
  watch(): Undo {
    const engine = engineInternals();
    return patch(engine, 'runKernelFunc', 'outermost operator', (local) => (operator) => {
      this.#depth++;
      try {
        return local.call(engine, operator);
      } finally {
        if (--this.#depth === 0 && this.#loaded.size > 0) this.#end();
      }
    });
  }

  #end(): void {
    const loaded = new Set(this.#loaded);
    this.#loaded.clear();
    this.onEnd(loaded);
  }
}
