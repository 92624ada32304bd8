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

/** Divides the time of steps among their parts. Parts may lie in each other: the inner one counts. */
export class PartsClock {
  readonly #ms = { forward: 0, backward: 0, communication: 0, optimizer: 0, replay: 0 };
  /** The time of collectives inside the spans that have ended. */
  #inCollectives = 0;

  collective(ms: number): void {
    this.#ms.communication += ms;
    this.#inCollectives += ms;
  }

  /** The collectives so far. Give it to {@link add} at the end of a part that begins now. */
  get mark(): number {
    return this.#inCollectives;
  }

  /** Adds a part that began at `mark` and took `ms`, with the collectives in it. */
  add(part: Exclude<TimedPart, 'communication'>, ms: number, mark: number): void {
    this.#ms[part] += Math.max(0, ms - (this.#inCollectives - mark));
  }

  /** The parts of steps that took `ms` together, each divided by `steps`. */
  parts(ms: number, steps: number): StepParts {
    const of = (part: TimedPart) => Math.max(0, this.#ms[part]) / steps;
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
