import type { CompiledStep } from './compile.js';

/** With this many steps of one call each, a loop compiles its step anew each time. */
const MANY = 8;

interface Entry {
  readonly dispose: () => void;
  calls: number;
}

/** The compiled steps of an Accelerator. */
export class CompiledSteps {
  readonly #entries: Entry[] = [];
  #hasWarned = false;

  /**
   * Compiles a further step. Warns once if each of the last ones was called once: such steps are never
   * replayed.
   *
   * @param compile Gets what counts a call of the step.
   */
  add<Args extends unknown[], R>(
    compile: (onCall: () => void) => CompiledStep<Args, R>,
  ): CompiledStep<Args, R> {
    this.#warnIfAnew();
    const entry: Entry = { dispose: () => step.dispose(), calls: 0 };
    const step = compile(() => entry.calls++);
    this.#entries.push(entry);
    return step;
  }

  /** Frees the recordings of all. */
  dispose(): void {
    for (const { dispose } of this.#entries.splice(0)) dispose();
  }

  #warnIfAnew(): void {
    const last = this.#entries.slice(-MANY);
    if (this.#hasWarned || last.length < MANY || last.some(({ calls }) => calls !== 1)) return;
    this.#hasWarned = true;
    console.warn(
      `acc: accelerator.compile was called ${MANY + 1} times, and each step was called once, so none is replayed. Compile a step once, before the loop: it is replayed from its fourth call on.`,
    );
  }
}
