import type { Tensor, Variable } from '@tensorflow/tfjs-core';
import type { Collective, GradientReduction, Pending } from '@acc/contract';
import { countUsers } from '@acc/ddp';
import type { Unit } from '@acc/placement';

export interface ShardReductionParts {
  /** The variables of the pass that are divided over ranks. */
  readonly variables: readonly Variable[];
  readonly unitOf: ReadonlyMap<Variable, Unit>;
  /** All ranks that train together. */
  readonly collective: Collective;
  /** Called when the gradients of all variables of a unit are there: backward no longer uses it. */
  readonly completed?: ((unit: Unit) => void) | undefined;
}

/**
 * The reduction of one backward pass to shards. A unit is sent when its gradients, and those of the
 * units after it, are complete, while backward continues. The whole gradients of one unit travel at a
 * time (as in PyTorch's FSDP2): those of the next are complete before they are sent, so that the
 * gradients of two units are in memory.
 */
export class ShardReduction implements GradientReduction {
  readonly #units: readonly UnitGradients[];
  readonly #unitAt: readonly UnitGradients[];
  #launched = 0;

  constructor(private readonly parts: ShardReductionParts) {
    const { variables, unitOf } = parts;
    const gradients = new Map<Unit, UnitGradients>();
    for (const variable of variables) {
      const unit = unitOf.get(variable)!;
      const known = gradients.get(unit) ?? new UnitGradients(unit);
      known.expect(variable);
      gradients.set(unit, known);
    }
    // Backward completes units from the last to the first. Every rank sends them in this order,
    // whatever it uses.
    this.#units = [...gradients.values()].reverse();
    this.#unitAt = variables.map((variable) => gradients.get(unitOf.get(variable)!)!);
  }

  ready(index: number, gradLocal: Tensor): void {
    const unit = this.#unitAt[index]!;
    unit.add(this.parts.variables[index]!, gradLocal);
    if (unit.isWhole) this.parts.completed?.(unit.unit);
    while (this.#units[this.#launched]?.isComplete) this.#launchNext();
  }

  /** This rank's elements of each gradient, `[length]`; null where no rank has a gradient. */
  finish(): (Tensor | null)[] {
    while (this.#launched < this.#units.length) this.#launchNext();
    const isUsed = this.#areUsed();
    for (const unit of this.#units) unit.sumReplicas();
    for (const unit of this.#units) unit.wait();
    return this.parts.variables.map((variable, i) => {
      const local = this.#unitAt[i]!.take(variable);
      if (isUsed(i)) return local;
      local.dispose();
      return null;
    });
  }

  /**
   * Frees what is on its way. For a pass that has failed. Returns whether all of it came: otherwise
   * another rank is gone, and nothing more will come.
   */
  dispose(): boolean {
    return this.#units.every((unit) => unit.dispose());
  }

  #launchNext(): void {
    const unit = this.#units[this.#launched++]!;
    this.#units[this.#launched - 3]?.wait();
    this.#units[this.#launched - 2]?.arrive();
    unit.launch();
  }

  /** Whether some rank has a gradient of the variable. Every rank calls it. */
  #areUsed(): (index: number) => boolean {
    const { variables, collective } = this.parts;
    const local = variables.map((variable, i) => this.#unitAt[i]!.has(variable));
    if (local.length === 0) return () => false;
    const users = countUsers(local, collective);
    // A rank with all gradients need not read the others' answers.
    const counts = local.every(Boolean) ? undefined : users.dataSync();
    users.dispose();
    return (index) => local[index]! || counts![index]! > 0;
  }
}

/** The gradients of a unit on their way to shards. */
class UnitGradients {
  readonly #expected = new Set<Variable>();
  readonly #given = new Map<Variable, Tensor>();
  readonly #present = new Set<Variable>();
  #pending: Pending<Tensor> | undefined;
  #isSummed = false;
  #local: Map<Variable, Tensor> | undefined;

  constructor(readonly unit: Unit) {}

  get isComplete(): boolean {
    return this.#present.size === this.#expected.size;
  }

  /** Whether the gradients of all variables of the unit are there. */
  get isWhole(): boolean {
    return this.#present.size === this.unit.shards.length;
  }

  expect(variable: Variable): void {
    this.#expected.add(variable);
  }

  has(variable: Variable): boolean {
    return this.#present.has(variable);
  }

  /** Takes ownership. */
  add(variable: Variable, grad: Tensor): void {
    this.#given.set(variable, grad);
    this.#present.add(variable);
  }

  launch(): void {
    this.#pending = this.unit.reduceScatter(this.unit.shards.map(({ full }) => this.#given.get(full)));
    this.#given.clear();
  }

  /** Waits for the sum over the ranks of the unit, and starts the one over replicas, if any. */
  sumReplicas(): void {
    if (this.#isSummed || !this.unit.hasReplicas) return;
    this.#isSummed = true;
    const chunk = this.#pending!.wait();
    this.#pending = this.unit.sumReplicas(chunk);
  }

  /**
   * Waits until the whole gradients are no longer in memory. The sum over replicas, if any, may still
   * be on its way.
   */
  arrive(): void {
    if (this.unit.hasReplicas) this.sumReplicas();
    else this.wait();
  }

  wait(): void {
    if (this.#local) return;
    this.sumReplicas();
    const chunk = this.#pending!.wait();
    const local = this.unit.ownGradients(chunk);
    this.#local = new Map(this.unit.shards.map(({ full }, i) => [full, local[i]!]));
    for (const [variable, grad] of this.#local) if (!this.#expected.has(variable)) grad.dispose();
  }

  /** Waits, because other ranks send as well. The scope of the pass has freed the rest. */
  dispose(): boolean {
    if (this.#local) return true;
    try {
      this.#pending?.wait().dispose();
      return true;
    } catch {
      // The sum failed as well: another rank is gone.
      return false;
    }
  }

  /** The caller disposes it. */
  take(variable: Variable): Tensor {
    return this.#local!.get(variable)!;
  }
}
