import { besideTape, engineInternals, type Undo } from '@acc/tfjs-internals';
import { Unannounced } from './unannounced.js';
import type { TapePhase } from '@acc/contract';
import type { GatheredUnit } from '@acc/placement';
import type { ResolvedFsdpOptions } from './options.js';
import { UseOrder } from './use-order.js';

type GatheringOptions = Pick<
  ResolvedFsdpOptions,
  'backwardPrefetch' | 'reshardAfterForward' | 'limitAllGathers'
>;

const UNLIMITED = 3;

/**
 * Keeps units in memory while they are used (stage 3). A unit is gathered before an operator uses
 * one of its variables, and released when another unit is used, unless it is needed next. The units
 * that follow are gathered ahead, in the order that the pass before has shown (as in PyTorch's FSDP:
 * Zhao et al., "PyTorch FSDP: Experiences on Scaling Fully Sharded Data Parallel", VLDB 2023).
 *
 * All ranks use units in the same order, so they make the same calls.
 */
export class Gathering {
  readonly #order: UseOrder<GatheredUnit>;
  readonly #resident = new Set<GatheredUnit>();
  readonly #unannounced = new Unannounced<GatheredUnit>((loaded) => this.#keepOnly(loaded));
  #current: GatheredUnit | undefined;
  #isBackward = false;

  constructor(
    private readonly options: GatheringOptions,
    countUnits: () => number,
  ) {
    this.#order = new UseOrder(() => 64 * countUnits());
  }

  /** The number of units that are gathered ahead of their use. */
  get #ahead(): number {
    return this.options.limitAllGathers ? 1 : UNLIMITED;
  }

  /** The units to gather ahead now. An operator that uses several leaves room for fewer. */
  #following(unit: GatheredUnit): readonly GatheredUnit[] {
    const others = [...this.#resident].filter((other) => other !== unit && other.uses > 0);
    return this.#order.next(Math.max(0, this.#ahead - others.length));
  }

  /** An operator is about to use the units. */
  before(units: readonly GatheredUnit[], phase: TapePhase): void {
    this.#isBackward = phase === 'backward';
    let used = 0;
    try {
      for (const unit of units) {
        unit.takeOverAssigned();
        this.#use(unit, phase);
        unit.uses++;
        used++;
      }
    } catch (error) {
      // `after` is not called if this call throws.
      for (const unit of units.slice(0, used)) unit.uses--;
      throw error;
    }
  }

  after(units: readonly GatheredUnit[], phase: TapePhase): void {
    for (const unit of units) unit.uses--;
    const isAfterwards = phase === 'backward' && this.options.backwardPrefetch === 'post';
    const last = units.at(-1);
    if (units.length > 1) this.#releaseOthers(last!);
    // While an operator uses several units, fewer are gathered ahead.
    if (last && (isAfterwards || (units.length > 1 && this.#gathersBefore(phase)))) this.#gatherAhead(last);
  }

  #gathersBefore(phase: TapePhase): boolean {
    return phase === 'forward' || this.options.backwardPrefetch === 'pre';
  }

  /** Whether {@link before} and {@link after} would neither gather nor release anything now. */
  isInert(units: readonly GatheredUnit[], phase: TapePhase): boolean {
    const [unit] = units;
    if (this.#isBackward !== (phase === 'backward')) return false;
    if (!unit) return true;
    if (units.length > 1 || unit !== this.#current || !unit.isReady('step')) return false;
    const isAlone = phase === 'backward' && this.options.backwardPrefetch === 'none';
    const next = this.#order.next(this.#ahead);
    return (isAlone || next.every((one) => one.isStarted('step'))) && this.#unneeded(unit).length === 0;
  }

  /**
   * Values are needed without an operator that announced it, as in a forward pass that computes no
   * gradients. They stay until another unit is used or read: whether they are there must not depend on
   * when a rank comes to rest, since ranks gather together.
   */
  load(unit: GatheredUnit): void {
    // A kernel that loads one variable may have the memory of another at hand.
    const isInKernel = engineInternals().state.kernelDepth > 0;
    besideTape(() => {
      if (isInKernel) this.#unannounced.add(unit);
      else if (this.#current !== unit) this.#releaseOthers(unit);
      this.#resident.add(unit);
      unit.gather('reading');
    });
  }

  /** Backward has used a unit for the last time: its values go before its gradients travel. */
  complete(unit: GatheredUnit): void {
    if (unit.uses === 0) this.#release(unit);
  }

  /** A backward pass has ended. */
  endPass(): void {
    this.#order.end();
    this.release();
  }

  /**
   * Releases all units. A pass may end without gradients, or by an error. Then no value stays that
   * was rounded for it.
   */
  release(): void {
    this.#current = undefined;
    this.#isBackward = false;
    for (const unit of this.#resident) unit.release();
    this.#resident.clear();
  }

  /** Follows operators of passes that announce none, until the returned function is called. */
  watch(): Undo {
    return this.#unannounced.watch();
  }

  /** Forgets a unit whose variables are gone. */
  forget(unit: GatheredUnit): void {
    this.#resident.delete(unit);
    if (this.#current === unit) this.#current = undefined;
    this.#order.forget(unit);
  }

  #use(unit: GatheredUnit, phase: TapePhase): void {
    if (this.#current !== unit) this.#order.note(unit);
    this.#current = unit;
    this.#releaseOthers(unit);
    this.#resident.add(unit);
    if (this.#gathersBefore(phase)) this.#gatherAhead(unit);
    else unit.gather('step');
  }

  /** Gathers a unit, and starts to gather those that will be used next. */
  #gatherAhead(unit: GatheredUnit): void {
    unit.startGather('step');
    for (const next of this.#following(unit)) {
      this.#resident.add(next);
      next.takeOverAssigned();
      next.startGather('step');
    }
    this.#order
      .next(this.#ahead + 1)
      .at(-1)
      ?.readAhead();
    unit.gather('step');
  }

  #releaseOthers(unit: GatheredUnit): void {
    for (const other of this.#unneeded(unit)) this.#release(other);
  }

  /** An operator that was not announced has ended, and has loaded these units. */
  #keepOnly(loaded: ReadonlySet<GatheredUnit>): void {
    // In a pass, other operators announce what they use.
    if (this.#current) return;
    const others = [...this.#resident].filter((unit) => !loaded.has(unit));
    besideTape(() => others.forEach((unit) => this.#release(unit)));
  }

  #release(unit: GatheredUnit): void {
    unit.release();
    this.#resident.delete(unit);
  }

  /** The units in memory that are neither in use nor next. */
  #unneeded(unit: GatheredUnit): GatheredUnit[] {
    if (!this.#isBackward && !this.options.reshardAfterForward) return [];
    const next = this.#order.next(this.#ahead);
    return [...this.#resident].filter((other) => other !== unit && other.uses === 0 && !next.includes(other));
  }
}
