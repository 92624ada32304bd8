/** How the time of a step was spent, in milliseconds. The parts add up to the step. */
export interface StepParts {
  /** The forward passes of losses. */
  readonly forward: number;
  /** The backward passes, without the waits for other ranks in them. */
  readonly backward: number;
  /** The time in which this rank waited in collectives, and did nothing else. */
  readonly communication: number;
  /** From the end of the last backward pass to the end of the step, without {@link communication}. */
  readonly optimizer: number;
  /** Replays of compiled steps, without the other parts in them. */
  readonly replay: number;
  /** The rest: waiting for data, and the program's own code. */
  readonly other: number;
}

const PARTS = ['forward', 'backward', 'communication', 'optimizer', 'replay'] as const;
export type TimedPart = (typeof PARTS)[number];

/** How many ended parts are looked at for the parts inside another one. */
const REMEMBERED = 4096;

/** Divides the time of steps among their parts. Where parts lie in each other, the inner one counts. */
export class PartsClock {
  readonly #ms = { forward: 0, backward: 0, communication: 0, optimizer: 0, replay: 0 };
  /** The last parts that ended, in the order of their ends, without those inside them. */
  #ended: { readonly end: number; readonly ms: number }[] = [];

  /** Adds a part that began at `start` and ends now, at `end`, without the parts in it. */
  add(part: TimedPart, start: number, end: number): void {
    let inner = 0;
    for (let i = this.#ended.length - 1; i >= 0 && this.#ended[i]!.end > start; i--)
      inner += this.#ended[i]!.ms;
    const ms = Math.max(0, end - start - inner);
    this.#ms[part] += ms;
    this.#ended.push({ end, ms });
    if (this.#ended.length > 2 * REMEMBERED) this.#ended = this.#ended.slice(-REMEMBERED);
  }

  /** The parts of steps that took `ms` together, each divided by `steps`. */
  parts(ms: number, steps: number): StepParts {
    const of = (part: TimedPart) => this.#ms[part] / steps;
    const known = PARTS.reduce((sum, part) => sum + of(part), 0);
    return {
      forward: of('forward'),
      backward: of('backward'),
      communication: of('communication'),
      optimizer: of('optimizer'),
      replay: of('replay'),
      other: Math.max(0, ms / steps - known),
    };
  }
}
